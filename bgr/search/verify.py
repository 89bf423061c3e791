"""Whether an index folder still holds what was written."""

from __future__ import annotations

from dataclasses import dataclass

from tqdm import tqdm

from bgr.errors import DataError
from bgr.search.hashes import digest, files_of
from bgr.search.index_state import IndexState

MOST_NAMED = 3
"""Damaged files that a message names."""


@dataclass(frozen=True)
class Verified:
    """What was compared: files and their size in bytes; and files without a hash, which an older version wrote."""

    files: int
    bytes: int
    unhashed: tuple[str, ...]


def verify(state: IndexState, *, progress: bool = False) -> Verified:
    """Read every file of an index and compare it with its hash, and the passages with the hash of their corpus.

    Raises:
        DataError: files are missing or hold something else; the message names them.
    """
    folder, manifest = state.folder, state.manifest
    pieces = [*manifest.segments, *([manifest.deleted] if manifest.deleted else [])]
    wanted = {file: sha256 for piece in pieces for file, sha256 in piece.sha256.items()}
    try:
        sizes = {file: (folder / file).stat().st_size for piece in pieces for file in files_of(folder, piece)}
        bar = tqdm(total=sum(sizes.values()), desc="verify", unit="B", unit_scale=True, disable=not progress, delay=1)
        with bar:
            found = {file: digest(folder / file, bar.update) for file in sizes}
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}") from None
    bad = [file for file, sha256 in wanted.items() if found.get(file) != sha256]
    if bad:
        more = f" and {len(bad) - MOST_NAMED} more" if len(bad) > MOST_NAMED else ""
        names = ", ".join(bad[:MOST_NAMED])
        raise DataError(f"{folder}: {names}{more}: not what was written (damaged or changed); build the index again")
    _ = state.corpus  # compares its own hash, the only one that an older version kept
    return Verified(len(wanted), sum(sizes[file] for file in wanted), tuple(sorted(sizes.keys() - wanted.keys())))
