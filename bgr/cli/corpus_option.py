"""Corpus files on the command line: ours, and the published ones."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.errors import DataError

if TYPE_CHECKING:
    from bgr.collection.corpus import Corpus

FORMS = 'lines {"id", "title", "text"}, or a published corpus (HippoRAG, MultiHop-RAG)'


def add_corpus(parser: argparse.ArgumentParser, *, required: bool = True, help: str = "the passages") -> None:
    parser.add_argument("--corpus", type=Path, required=required, metavar="FILE", help=f"{help}: {FORMS}")


def read_passages(path: Path) -> Corpus:
    """The passages of a file. Those of a published one, which has no ids, get ids of their title and text.

    Raises:
        DataError: it is missing or damaged, or holds something else; the message names the place.
    """
    if _has_ids(path):
        from bgr.collection.corpus import load_corpus

        return load_corpus(path)
    from bgr.data.multihop.corpora import read_corpus

    return read_corpus(path).pool.corpus()


def _has_ids(path: Path) -> bool:
    """Whether the first line is a passage with an id."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            first = next((line for line in file if line.strip()), "")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        row = json.loads(first) if first.lstrip().startswith("{") else None
    except (ValueError, RecursionError):  # what is wrong is for the reader to say
        return False
    return isinstance(row, dict) and "id" in row and ("text" in row or not {"title", "body"} <= row.keys())
