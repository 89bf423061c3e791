"""What all studies of `bgr ablate` take: questions, a language model, the place for results."""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.cli.counts import positive
from bgr.cli.machine_options import add_machine
from bgr.errors import BgrError, DataError


def add_study(parser: argparse.ArgumentParser) -> None:
    """Options of every study. What `bgr.cli.passage_parts.PassageParts` could have beside them is set to none."""
    parser.add_argument("--data", type=Path, required=True, metavar="PLACE", help="file of questions, or dataset")
    parser.add_argument("--form", metavar="NAME", help="of the file: musique, hotpotqa, 2wikimultihopqa, multihop-rag")
    parser.add_argument(
        "--llm", required=True, metavar="SPEC", help="smollm2, a .gguf file, a folder, http://host/v1#model"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="keep the language model's replies here")
    parser.add_argument("--replay-only", action="store_true", help="refuse calls that --replay cannot answer")
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--batch-size", type=positive, default=16, help="questions at a time; default: 16")
    add_machine(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the report's folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the output folder")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON instead of the tables")
    parser.set_defaults(openie=None, reader=None, encoder=None, corpus=None)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Options of a study that searches."""
    parser.add_argument("--corpus", type=Path, metavar="FILE", help="passages to search; default: those of the data")
    parser.add_argument("--encoder", type=Path, metavar="DIR", help="for dense search; default: the packaged MiniLM")


def check_study(args: argparse.Namespace) -> None:
    """What can be said before anything is read.

    Raises:
        BgrError: an option lacks another, or there is no data.
    """
    if args.replay_only and args.replay is None:
        raise BgrError("--replay-only needs --replay FILE")
    if not args.data.exists():
        raise DataError(f"{args.data}: no such file or folder")
