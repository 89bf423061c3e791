"""Measure GEAR's diverse triple beam search on random triples: building and opening the index, its memory, a query's
time once it is encoded, and how many times as long the plain definition takes on an index where that can run.

  bgr bench beam
  bgr bench beam --triples 100000 --queries 20
"""

from __future__ import annotations

import argparse
import json

from bgr.cli.counts import positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--triples", type=positive, default=1_500_000, metavar="N", help="default: 1500000")
    parser.add_argument("--queries", type=positive, default=100, metavar="N", help="default: 100")
    parser.add_argument(
        "--plain-triples", type=positive, default=100_000, metavar="N", help="for the plain definition; default: 100000"
    )
    parser.add_argument("--plain-queries", type=positive, default=5, metavar="N", help="default: 5")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> None:
    from eval.bench.beam import bench_beam

    found = bench_beam(
        args.triples,
        queries=args.queries,
        plain_triples=args.plain_triples,
        plain_queries=args.plain_queries,
        seed=args.seed,
        progress=True,
    )
    print(json.dumps(found.to_json(), indent=2) if args.json else found)
