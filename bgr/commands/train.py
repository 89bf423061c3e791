"""Train a model from a config: BGR's retriever, or a verbaliser for the dataset's sentences.

bgr train retriever --config demo --data dataset --out run
bgr train verbalizer --config verbalizer --kqapro atlas --out verbalizer
"""

from __future__ import annotations

import argparse

from bgr.commands import train_retriever, train_verbalizer
from bgr.commands.subcommands import Subcommands, add_subcommands

PASSES_ON = True

WHAT: Subcommands = {
    "retriever": (train_retriever, "both directions of BGR, and their calibration on dev"),
    "verbalizer": (train_verbalizer, "a T5 that words facts, for bgr data build --verbalizer"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, WHAT, "what")


def run(args: argparse.Namespace) -> None:
    """Train what was chosen."""
    WHAT[args.what][0].run(args)
