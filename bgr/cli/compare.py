"""Put systems side by side on the same questions: the paper's tables and figures, and one page to look into them.

Evidence graphs: --data is a dataset of `bgr data build`. A system is [NAME=]PLACE[:PART]. PLACE is a folder that `bgr
evaluate` or `bgr compare` wrote (or its predictions.jsonl), a checkpoint, a trained baseline, or bm25 or random; what
is not evaluated yet is run. PART names one system of an evaluation, a reconstruction rule of a checkpoint, or how a
single-hop baseline's k is chosen (gold, dev); without PART and NAME all systems of an evaluation are taken, with NAME
alone its main one. With --reader one reader answers for all systems, and for "gold graph" and "no evidence" beside
them.

Writes report.html (tables, plots and an explorer of single questions; opens from a file, without network), compare.md,
compare.tex, table4.csv, pairs.csv, metrics.json, metrics.csv, errors.json, predictions.jsonl and plots. Intervals come
from a bootstrap over questions.

  bgr compare --data work/data --systems work/evaluation --out work/comparison
  bgr compare --data work/data --systems work/evaluation dpr=work/dpr new=work/run:fused --reader work/reader \\
      --sweep work/run-sweep-dev --out work/comparison
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bgr.cli import compare_passages
from bgr.cli.counts import positive
from bgr.cli.machine_options import add_machine
from bgr.errors import BgrError
from bgr.utils.atomic_io import output_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{__doc__}\n{compare_passages.__doc__}"
    parser.add_argument("--data", type=Path, required=True, metavar="PLACE", help="dataset, or file of questions")
    parser.add_argument("--split", choices=("train", "dev", "test"), default="test", help="default: test")
    parser.add_argument("--systems", nargs="+", required=True, metavar="SYSTEM", help="what to compare")
    parser.add_argument(
        "--main", metavar="NAME", help="the system to see the others against; default: of the last PLACE"
    )
    parser.add_argument("--reader", metavar="DIR", help="reads all answers; of passages, a model's SPEC")
    parser.add_argument("--sweep", type=Path, metavar="DIR", help="of `bgr evaluate --sweep`, for Figure 5")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--samples", type=positive, default=10_000, help="of the bootstrap; default: 10000")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap and the random baseline; default: 0")
    parser.add_argument("--batch-size", type=positive, default=16, help="questions at a time; default: 16")
    add_machine(parser)
    parser.add_argument("--ged-seconds", type=float, default=1.0, help="limit of one edit distance; default: 1")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the report's folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the output folder")
    parser.add_argument("--json", action="store_true", help="print the metrics as JSON instead of the tables")
    compare_passages.add_options(parser.add_argument_group("passages"))


def run(args: argparse.Namespace) -> None:
    """Read or run, score, compare, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    if args.seed < 0:
        raise BgrError(f"--seed is {args.seed}, allowed: 0 and more")
    if compare_passages.asked_for(args):
        compare_passages.run(args)
        return
    from bgr.cli.compare_systems import gather
    from eval.compare.compare import compare
    from eval.report.comparison import write_comparison
    from eval.report.evaluation import as_json
    from eval.run.evaluate import evaluate
    from eval.run.read_evaluation import check_hash
    from eval.run.sweep import read_sweep

    # opened first: a folder that is in the way is reported before the work, not after it
    with output_folder(args.out, overwrite=args.overwrite) as folder:
        sweep = read_sweep(args.sweep) if args.sweep else None
        systems, examples, main, about = gather(args)
        if sweep is not None:
            check_hash(args.sweep, sweep["about"], args.data, about["data_hash"])
        evaluations = evaluate(systems, examples, ged_seconds=args.ged_seconds, progress=True)
        found = compare(evaluations, examples, main, about, samples=args.samples, seed=args.seed)
        write_comparison(folder, found, sweep)
    if args.json:
        print(json.dumps(as_json(evaluations, main, found.about), ensure_ascii=False))
    else:
        _print(found, args.out)


def _print(found: Any, out: Path) -> None:
    from eval.report.comparison import NOTE, table4
    from eval.report.document import without_intervals
    from eval.report.evaluation import errors_text, notes

    print(without_intervals(table4(found)).as_text())
    print("\n".join([NOTE.split("; ")[0] + ".", *notes(found.evaluations), "", errors_text(found.errors)]))
    print(f"\nwritten to {out}; look into {out / 'report.html'} with a browser")
