"""Measure speed against the floor: the same work through the reference and through this library, in one run."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    benches = parser.add_subparsers(dest="bench", metavar="BENCH", required=True)
    kopl = benches.add_parser(
        "kopl",
        help="execute KoPL programs through the package kopl and through ours",
        description="Execute the same KoPL programs through the package kopl and through ours; the answers must agree.",
    )
    kopl.add_argument(
        "--kqapro",
        metavar="DIR",
        help="folder with kb.json and train.json, val.json (default: Atlas, built in memory)",
    )
    kopl.add_argument("--programs", type=_positive, default=2000, metavar="N", help="number of programs (default 2000)")
    kopl.add_argument("--random", action="store_true", help="random programs over all 27 functions, not the folder's")
    kopl.add_argument("--seed", type=int, default=0, help="which programs are drawn (default 0)")
    kopl.add_argument("--json", action="store_true", help="print the result as JSON")
    kopl.set_defaults(run_bench=_kopl)


def run(args: argparse.Namespace) -> None:
    args.run_bench(args)


def _kopl(args: argparse.Namespace) -> None:
    from bgr.files import read_json
    from eval.bench_kopl import bench_kopl, check, draw_programs, read_programs

    programs = None
    if args.kqapro is None:
        from bgr.atlas.build import build_knowledge_base
        from bgr.atlas.sampler import sample_questions
        from bgr.kb.knowledge_base import KnowledgeBase

        records: dict[str, Any] = build_knowledge_base(seed=args.seed)
        if not args.random:
            questions = sample_questions(KnowledgeBase(records), count=args.programs, seed=args.seed)
            named = [(f"Atlas question {index}", question) for index, question in enumerate(questions)]
            programs = draw_programs(named, args.programs, args.seed)
    else:
        records = read_json(f"{args.kqapro}/kb.json")
        if not args.random:
            programs = read_programs(args.kqapro, args.programs, args.seed)
    result = bench_kopl(records, programs, count=args.programs, seed=args.seed)
    print(json.dumps(result.to_json(), indent=2) if args.json else result)
    check(result)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 1 or more")
    return number
