"""Hashes of an index folder's files, taken when they are written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bgr.search.manifest import FILE, Piece
from bgr.search.writing import writing

BLOCK = 1 << 20
"""Bytes read at a time."""


def hashed(folder: Path, piece: Piece) -> Piece:
    """The piece with the hashes of its files, which are all written; they are read once more.

    Raises:
        DataError: a file cannot be read.
    """
    with writing(folder / piece.name):
        return replace(piece, sha256={file: digest(folder / file) for file in files_of(folder, piece)})


def files_of(folder: Path, piece: Piece) -> Iterator[str]:
    """The files of a piece that are there, by their path in the index' folder."""
    path = folder / piece.name
    if path.is_dir():
        yield from sorted(f"{piece.name}/{file.name}" for file in path.iterdir() if FILE.fullmatch(file.name))
    elif path.is_file():
        yield piece.name


def digest(path: Path, told: Callable[[int], object] = lambda read: None) -> str:
    """SHA-256 of a file; `told` hears of every block that was read, in bytes."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            told(len(block))
    return found.hexdigest()
