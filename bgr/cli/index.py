"""Passages in an index on disk: words for BM25, sentence vectors for dense search, both for hybrid search.

bgr index build --corpus corpus.json --out work/index
bgr index search work/index "Who directed Persona?"
bgr index add work/index --corpus more.jsonl
bgr index delete work/index p17 p18
bgr index compact work/index
bgr index verify work/index
bgr index upload work/index --milvus work/milvus.db
"""

from __future__ import annotations

import argparse

from bgr.cli import (
    index_add,
    index_build,
    index_compact,
    index_delete,
    index_search,
    index_show,
    index_upload,
    index_verify,
)
from bgr.cli.subcommands import Subcommands, add_subcommands

ACTIONS: Subcommands = {
    "build": (index_build, "a corpus -> an index"),
    "add": (index_add, "append passages; what is there stays as it is"),
    "delete": (index_delete, "delete passages by id"),
    "compact": (index_compact, "one segment of all, without what was deleted"),
    "search": (index_search, "the best passages for questions"),
    "show": (index_show, "what an index is of"),
    "verify": (index_verify, "read all files and compare them with their hashes"),
    "upload": (index_upload, "put the vectors into Milvus, a file or a server"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_subcommands(parser, ACTIONS, "action")


def run(args: argparse.Namespace) -> None:
    """Run the action that was chosen."""
    ACTIONS[args.action][0].run(args)
