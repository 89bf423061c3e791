"""Build ReasonGraphQA from a folder of KQA Pro files (or Atlas), look at it, check it, convert it.

bgr data build --kqapro atlas --out dataset
bgr data stats dataset
"""

from __future__ import annotations

import argparse

from bgr.cli import data_build, data_convert, data_leakage, data_quality, data_show, data_stats, data_verify
from bgr.cli.subcommands import Subcommands, add_subcommands

ACTIONS: Subcommands = {
    "build": (data_build, "questions with programs -> evidence graphs over sentences"),
    "stats": (data_stats, "the paper's Tables 1 to 3 and Figure 3 for a dataset"),
    "show": (data_show, "one sample: question, program, facts, graph"),
    "verify": (data_verify, "check a finished dataset and that no distractor entails a gold fact"),
    "leakage": (data_leakage, "what the splits have in common"),
    "quality": (data_quality, "check the sentences; sheets for human marks"),
    "convert": (data_convert, "to and from the JSON that the paper's authors released; from MuSiQue"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, ACTIONS, "action")


def run(args: argparse.Namespace) -> None:
    """Run the action that was chosen."""
    ACTIONS[args.action][0].run(args)
