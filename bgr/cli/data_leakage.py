"""Show what the splits of a dataset share: question texts, sets of gold triples, programs with their entities.

bgr data leakage dataset
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.checks.leakage import dataset_leakage, leakage_text

    report = dataset_leakage(args.folder, progress=True)
    print(json.dumps(report.to_json(), indent=2, ensure_ascii=False) if args.json else leakage_text(report))
