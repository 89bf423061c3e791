"""Commands that are chosen by a second word: `bgr data build`, `bgr train retriever`, `bgr bench kopl`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import ModuleType

Subcommands = Mapping[str, tuple[ModuleType, str]]
"""Word to the command's module, which has `add_arguments` and `run`, and its line in the help."""


def add_subcommands(parser: argparse.ArgumentParser, known: Subcommands, dest: str) -> None:
    """A parser for each; the word that was given is found under `dest`."""
    words = parser.add_subparsers(dest=dest, metavar="|".join(known), required=True)
    for name, (module, summary) in known.items():
        module.add_arguments(
            words.add_parser(
                name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
            )
        )
