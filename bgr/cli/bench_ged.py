"""Measure the graph edit distance: ours and networkx's exact one on the same pairs, which must agree; ours on pairs too
large for networkx, where the share proven exact in time counts; and, given an evaluation, the cost of scoring it.

  bgr bench ged
  bgr bench ged --pairs 0 --large 0 --predictions work/demo/evaluation/predictions.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pairs", type=_count, default=2000, metavar="N", help="pairs of everyday size for both (default 2000)"
    )
    parser.add_argument(
        "--large", type=_count, default=20, metavar="N", help="pairs of each kind of 12, 18, 24 facts (default 20)"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="limit of one large pair (default 1)")
    parser.add_argument("--predictions", type=Path, metavar="FILE", help="predictions.jsonl written by `bgr evaluate`")
    parser.add_argument("--seed", type=int, default=0, help="which pairs are drawn (default 0)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> None:
    from eval.bench.ged import bench_ged
    from eval.bench.ged_result import check

    result = bench_ged(
        args.pairs, large=args.large, seed=args.seed, time_limit=args.seconds, predictions=args.predictions
    )
    print(json.dumps(result.to_json(), indent=2) if args.json else result)
    check(result)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 0 or more")
    return number
