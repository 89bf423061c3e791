"""Baselines on the command line: by name, or by the folder that `bgr train baseline` wrote."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.errors import BgrError

if TYPE_CHECKING:
    from bgr.retrievers.base import Retriever

BASELINES = ("bm25", "random")


def add_baselines(parser: argparse.ArgumentParser) -> None:
    """``--baselines``: names and folders."""
    parser.add_argument(
        "--baselines",
        nargs="*",
        metavar="NAME|DIR",
        help=f"{', '.join(BASELINES)}, or folders of `bgr train baseline`; default: bm25; none with --sweep",
    )


def load_baselines(
    words: Sequence[str], *, seed: int = 0, device: str | None = None, precision: str | None = None
) -> dict[str, Retriever]:
    """The rows of a table by name: one for each that stops by itself; for each single-hop one of a folder k = number of
    gold facts and dev's k. A name that is taken already gets its folder's name too.

    Raises:
        BgrError: a word is neither a name nor a baseline's folder, or the folder cannot be loaded.
    """
    from bgr.retrievers.baselines.trained import baseline_rows, untrained

    rows: dict[str, Retriever] = {}
    for word in words:
        if word in BASELINES:
            rows[word] = untrained(word, None, seed)
            continue
        folder = Path(word)
        if not folder.is_dir():
            raise BgrError(
                f"--baselines {word}: no such folder; allowed: {', '.join(BASELINES)}, or a baseline's folder"
            )
        for name, retriever in baseline_rows(folder, device=device, precision=precision).items():
            if name not in BASELINES or name not in rows:  # what has no weights is the same from a folder
                rows[f"{name} ({folder.name})" if name in rows else name] = retriever
    return rows
