"""Measure speed against the floor: the same work through the reference and through this library, in one run.

bgr bench kopl --kqapro atlas
bgr bench train --data dataset
bgr bench infer --data dataset
bgr bench ged --predictions evaluation/predictions.jsonl
bgr bench beam
bgr bench llm --llm smollm2
"""

from __future__ import annotations

import argparse

from bgr.cli import bench_beam, bench_ged, bench_infer, bench_kopl, bench_llm, bench_train
from bgr.cli.subcommands import Subcommands, add_subcommands

BENCHES: Subcommands = {
    "kopl": (bench_kopl, "KoPL programs through the package kopl and through ours"),
    "train": (bench_train, "a step of training against the bare encoder"),
    "infer": (bench_infer, "both directions' graphs against the bare encoder"),
    "ged": (bench_ged, "graph edit distances through networkx and through ours"),
    "beam": (bench_beam, "GEAR's beam search on 1,500,000 triples, and through the plain definition"),
    "llm": (bench_llm, "a local language model against generate of transformers"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, BENCHES, "bench")


def run(args: argparse.Namespace) -> None:
    """Run the bench that was chosen."""
    BENCHES[args.bench][0].run(args)
