"""Train a model from a config: BGR's retriever, a reader, or a verbaliser for the dataset's sentences.

bgr train retriever --config demo --data dataset --out run
bgr train reader --config reader --data dataset --out reader
bgr train verbalizer --config verbalizer --kqapro atlas --out verbalizer
"""

from __future__ import annotations

import argparse

from bgr.cli import train_baseline, train_reader, train_retriever, train_verbalizer
from bgr.cli.subcommands import Subcommands, add_subcommands

PASSES_ON = True

WHAT: Subcommands = {
    "retriever": (train_retriever, "both directions of BGR, and their calibration on dev"),
    "reader": (train_reader, "a T5 that answers a question from its evidence graph"),
    "baseline": (train_baseline, "a baseline of the comparison table: DPR, GRR, MDR, SSG; or what BM25 takes"),
    "verbalizer": (train_verbalizer, "a T5 that words facts, for bgr data build --verbalizer"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, WHAT, "what")


def run(args: argparse.Namespace) -> None:
    """Train what was chosen."""
    WHAT[args.what][0].run(args)
