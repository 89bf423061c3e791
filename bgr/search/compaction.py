"""All that is left of an index as one segment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bgr.search.arrays import save_rows
from bgr.search.hashes import hashed
from bgr.search.index_state import IndexState
from bgr.search.manifest import Piece
from bgr.search.segment import VECTORS, write_segment
from bgr.search.vector_store import CHUNK
from bgr.search.verify import verify
from bgr.search.word_counts import keep_texts, merge


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
