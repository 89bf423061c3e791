"""Take a method apart: what each part of PRISM and of BridgeRAG gives, and what evidence gives to a model that answers.

bgr ablate prism --data musique.json --llm smollm2 --replay replies.db --out work/prism
bgr ablate bridgerag --data musique.json --llm smollm2 --replay replies.db --out work/bridgerag
bgr ablate answers --data work/data --llm smollm2 --replay replies.db --out work/answers
"""

from __future__ import annotations

import argparse

from bgr.cli import ablate_answers, ablate_bridgerag, ablate_prism
from bgr.cli.subcommands import Subcommands, add_subcommands

STUDIES: Subcommands = {
    "prism": (ablate_prism, "analyser, adder, selector, rounds and contexts; where it goes wrong"),
    "bridgerag": (ablate_bridgerag, "judge, bridge and weights on one pool of candidates"),
    "answers": (ablate_answers, "what a model answers without evidence, with facts, with the graph in words"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, STUDIES, "ablate")


def run(args: argparse.Namespace) -> None:
    """Run the study that was chosen."""
    STUDIES[args.ablate][0].run(args)
