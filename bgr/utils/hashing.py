"""SHA-256 of files and texts, and splits by hash. None of them may change: they name cached work and verify data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

SHARES = (70, 10, 20)
"""Shares of train, dev and test."""


def hash_file(path: str | Path) -> str:
    """SHA-256 of a file's content, hexadecimal as `sha256sum` prints it."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(folder: str | Path, names: Iterable[str]) -> str:
    """SHA-256 over the named files of a folder, names and contents, in the order given."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0")
        with (Path(folder) / name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def hash_text(text: str) -> str:
    """SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def hash_texts(*texts: str) -> str:
    """SHA-256 of several texts, each with its length, so that ``ab`` differs from ``a``, ``b``."""
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode(errors="surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()


def hash_place(id: str, shares: Sequence[int] = SHARES) -> int:
    """The split of an id, numbered from 0: the first 8 bytes of its SHA-256, as a fraction of 2⁶⁴, choose a share.

    Raises:
        ValueError: a share is negative, or all are 0.
    """
    total = sum(shares)
    if min(shares, default=0) < 0 or total <= 0:
        raise ValueError(f"the shares are {list(shares)}, allowed: integers from 0, one of them above 0")
    raw = hashlib.sha256(id.encode(errors="surrogatepass")).digest()[:8]
    point = int.from_bytes(raw, "big") * total >> 64
    place = 0
    while point >= shares[place]:
        point -= shares[place]
        place += 1
    return place
