"""All that is left of an index as one segment.

How an index folder changes: one writer at a time, new files beside the old, and the manifest last.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from bgr.collection.arrays import save_rows
from bgr.collection.bm25 import keep_texts, merge
from bgr.collection.embedding import CHUNK
from bgr.collection.manifest import NAME, PIECE, Piece, hashed, read_manifest
from bgr.collection.segment import ENCODED, VECTORS, write_segment
from bgr.collection.state import IndexState, verify
from bgr.errors import DataError
from bgr.utils.atomic_io import writing

LOCK = ".lock"

_HALF = re.compile(rf"\.{re.escape(NAME)}\..*\.half")


@contextmanager
def changing(folder: Path) -> Iterator[str]:
    """Hold the folder, cleared of what a killed writer left; gives a number, six digits, that no file of it has had.

    Raises:
        DataError: another process is changing it, or it cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise DataError(f"{folder}: another process is changing this index; wait until it ends") from None
    try:
        numbers = [int(found[2]) for file in folder.iterdir() if (found := PIECE.fullmatch(file.name))]
        tidy(folder)
        yield f"{max(numbers, default=0) + 1:06d}"
    finally:
        lock.release()


def tidy(folder: Path) -> None:
    """Remove what the manifest does not name, of the names that are ours; vectors of a cut-off run stay."""
    try:
        names = read_manifest(folder).names
    except DataError:
        names = set()
    for path in sorted(folder.iterdir()):
        if _HALF.fullmatch(path.name) or (PIECE.fullmatch(path.name) and path.name not in names):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def check_free(folder: Path, overwrite: bool) -> None:
    """Refuse to build over an index, unless that is wanted, and over anything else in any case.

    Raises:
        DataError: the folder is taken.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: not a folder; an index is one")
    if (folder / NAME).exists():
        if not overwrite:
            raise DataError(f"{folder}: an index is there already; open it, or build with overwrite to replace it")
        return
    for path in sorted(folder.iterdir()):
        if not (path.name in (LOCK, ENCODED) or PIECE.fullmatch(path.name) or _HALF.fullmatch(path.name)):
            raise DataError(f"{folder}: not empty ({path.name}), and no index; name a new folder")


def one_segment(state: IndexState, number: str) -> tuple[Piece, ...]:
    """Write the segment beside the others; nothing is encoded or split into words again.

    Returns:
        The segment; none where no passage is left.

    Raises:
        DataError: it cannot be written, or a file of the others is damaged, which would not be noticed later.
    """
    verify(state)
    size, manifest = len(state.live), state.manifest
    if not size:
        return ()
    piece = Piece(f"segment-{number}", size)
    bounds = np.cumsum([segment.size for segment in state.segments])[:-1]
    masks = np.split(state.live.mask(), bounds)
    parts = [keep_texts(part.counts.load(), mask) for part, mask in zip(state.segments, masks, strict=True)]
    write_segment(state.folder / piece.name, state.corpus, merge(parts))
    if manifest.encoder is not None:
        dtype = np.float16 if manifest.half else np.float32
        save_rows(state.folder / piece.name / VECTORS, _vectors(state), size, dtype)
    return (hashed(state.folder, piece),)


def _vectors(state: IndexState) -> Iterator[np.ndarray]:
    for start in range(0, len(state.live), CHUNK):
        yield state.vectors.take(np.arange(start, min(start + CHUNK, len(state.live))))
