"""Execute the same KoPL programs through the package kopl and through ours, in one run; the answers must agree.

bgr bench kopl --kqapro atlas --programs 5000
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bgr.cli.counts import positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kqapro",
        metavar="DIR",
        help="folder with kb.json and train.json, val.json (default: Atlas, built for the run)",
    )
    parser.add_argument(
        "--programs", type=positive, default=2000, metavar="N", help="number of programs (default 2000)"
    )
    parser.add_argument("--random", action="store_true", help="random programs over all 27 functions, not the folder's")
    parser.add_argument("--seed", type=int, default=0, help="which programs are drawn (default 0)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> None:
    from eval.bench.kopl import bench_kopl, read_programs
    from eval.bench.kopl_result import check

    with tempfile.TemporaryDirectory() as built:
        folder = Path(args.kqapro or built)
        if args.kqapro is None:
            write_atlas(folder, 0 if args.random else args.programs, args.seed)
        programs = None if args.random else read_programs(folder, args.programs, args.seed)
        result = bench_kopl(folder, programs, count=args.programs, seed=args.seed)
    print(json.dumps(result.to_json(), indent=2) if args.json else result)
    check(result)


def write_atlas(folder: Path, questions: int, seed: int) -> None:
    """A folder's ``kb.json``, and ``train.json`` with so many questions, where there are to be any."""
    from bgr.data.atlas.build import build_knowledge_base
    from bgr.data.atlas.sampler.sampler import sample_questions
    from bgr.data.kb.knowledge_base import KnowledgeBase

    records = build_knowledge_base(seed=seed)
    (folder / "kb.json").write_text(json.dumps(records), encoding="utf-8")
    if questions:
        drawn = sample_questions(KnowledgeBase(records), count=questions, seed=seed)
        (folder / "train.json").write_text(json.dumps(drawn), encoding="utf-8")
