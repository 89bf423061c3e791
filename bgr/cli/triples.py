"""Triples of passages: extracted by a language model, read from published files, or from a knowledge base.

bgr triples extract --corpus corpus.json --llm smollm2 --out openie.json
bgr triples check openie.json --corpus corpus.json
bgr triples facts dataset --out openie.json

All three are about files in HippoRAG's form, which `bgr compare --openie` reads.
"""

from __future__ import annotations

import argparse

from bgr.cli import triples_check, triples_extract, triples_facts
from bgr.cli.subcommands import Subcommands, add_subcommands

ACTIONS: Subcommands = {
    "extract": (triples_extract, "passages -> triples, by a language model"),
    "check": (triples_check, "what a file of triples holds for a corpus"),
    "facts": (triples_facts, "the triples of ReasonGraphQA's facts, from the knowledge base"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, ACTIONS, "action")


def run(args: argparse.Namespace) -> None:
    """Run the action that was chosen."""
    ACTIONS[args.action][0].run(args)
