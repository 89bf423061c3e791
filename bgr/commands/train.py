"""Train a model from a config: BGR's retriever, or a verbaliser for the dataset's sentences.

bgr train retriever --config demo --data dataset --out run
bgr train verbalizer --config verbalizer --kqapro atlas --out verbalizer
"""

from __future__ import annotations

import argparse
from types import ModuleType

from bgr.commands import train_retriever, train_verbalizer

PASSES_ON = True

WHAT: dict[str, tuple[ModuleType, str]] = {
    "retriever": (train_retriever, "both directions of BGR, and their calibration on dev"),
    "verbalizer": (train_verbalizer, "a T5 that words facts, for bgr data build --verbalizer"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    whats = parser.add_subparsers(dest="what", metavar="|".join(WHAT), required=True)
    for name, (module, summary) in WHAT.items():
        what = whats.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.add_arguments(what)


def run(args: argparse.Namespace) -> None:
    """Train what was chosen."""
    WHAT[args.what][0].run(args)
