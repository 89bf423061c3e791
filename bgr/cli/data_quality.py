"""Check a sample of a dataset's sentences, write a sheet for human marks, or tell how far filled-in sheets agree.

bgr data quality work/data
bgr data quality work/data --facts 200 --sheet sheet.csv       # a copy for each marker: 1 = yes, 0 = no
bgr data quality work/data --marks anna.csv ben.csv
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bgr.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument("--facts", type=int, default=2000, metavar="N", help="how many to draw (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="draws them (default: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--sheet", type=Path, metavar="FILE.csv", help="write the facts drawn with columns for marks")
    parser.add_argument("--overwrite", action="store_true", help="replace the sheet if it exists")
    parser.add_argument("--marks", type=Path, nargs="+", metavar="FILE.csv", help="filled-in sheets, one a marker")


def run(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.checks.marking import read_marks, write_sheet
    from bgr.data.reasongraphqa.checks.quality import quality_report
    from bgr.data.reasongraphqa.io.fact_records import sample_facts

    # what is in the way is told before the work
    if args.sheet and args.marks and args.sheet in args.marks:
        raise DataError(f"{args.sheet}: given both as --sheet and as --marks, which would overwrite the marks")
    if args.sheet and args.sheet.exists() and not args.overwrite:
        raise DataError(f"{args.sheet}: exists already; give --overwrite to replace it")
    marks = read_marks(args.marks) if args.marks else None
    report = quality_report(sample_facts(args.folder, args.facts, args.seed), progress=True)
    found: dict[str, Any] = report.to_json()
    lines = [report.text()]
    if marks:
        agreed = marks.agreement()
        found["marks"] = {"sheets": marks.sheets, "facts": len(marks.ids), "criteria": [a.to_json() for a in agreed]}
        lines += [
            f"marks of {len(marks.ids):,} facts, {len(marks.sheets)} sheet(s):",
            *(f"  {a.text()}" for a in agreed),
        ]
    print(json.dumps(found, ensure_ascii=False) if args.json else "\n".join(lines))
    if args.sheet:
        count = write_sheet(args.folder, args.sheet, args.facts, args.seed, overwrite=args.overwrite)
        print(f"{args.sheet}: {count:,} facts to mark", file=sys.stderr)
