"""An index folder as it is at one moment: what searches read, whatever is added or deleted meanwhile."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from bgr.errors import DataError
from bgr.json_text import shown
from bgr.search.arrays import open_array
from bgr.search.corpus import Corpus
from bgr.search.counted_bm25 import CountedBm25Search
from bgr.search.live_rows import LiveRows
from bgr.search.manifest import Manifest, read_manifest
from bgr.search.segment import Segment
from bgr.search.vector_rows import VectorRows


class IndexState:
    """The files of one manifest, open; vectors and counts are memory-mapped.

    Raises:
        DataError: no index, of another format, or a file is missing, damaged or cut short.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        shape = manifest.dimensions, manifest.half
        self.segments = [Segment(folder / piece.name, piece.passages, *shape) for piece in manifest.segments]
        self.live = LiveRows(manifest.rows, self._deleted())

    @cached_property
    def corpus(self) -> Corpus:
        """The passages that are left, read when first asked for.

        Raises:
            DataError: a file of passages is damaged.
        """
        everything = [passage for segment in self.segments for passage in segment.passages()]
        mask = self.live.mask().tolist()
        try:
            corpus = Corpus(passage for passage, live in zip(everything, mask, strict=True) if live)
        except ValueError as error:
            raise DataError(f"{self.folder}: damaged ({error}); build the index again") from None
        if corpus.hash != self.manifest.corpus:
            raise DataError(f"{self.folder}: its passages are not those it was built of; build the index again")
        return corpus

    @cached_property
    def bm25(self) -> CountedBm25Search:
        """BM25 over the passages that are left."""
        return CountedBm25Search([segment.counts for segment in self.segments], self.live)

    @cached_property
    def vectors(self) -> VectorRows:
        """The vectors of the passages that are left.

        Raises:
            DataError: the index was built without an encoder.
        """
        if self.manifest.encoder is None:
            raise DataError(f"{self.folder}: the index has no vectors; build it again with an encoder")
        return VectorRows([part.vectors for part in self.segments if part.vectors is not None], self.live)

    def check(self, corpus: Corpus | None, key: str | None) -> None:
        """Refuse an index of another corpus or encoder; ``None`` asks for none in particular.

        Raises:
            DataError: says what differs and what to do.
        """
        own = self.manifest
        problems = []
        if corpus is not None and corpus.hash != own.corpus:
            theirs = f"{len(corpus)} passages, hash {corpus.hash[:12]}"
            problems.append(f"built of {own.passages} passages, hash {own.corpus[:12]}, not of the {theirs} given")
        if key is not None and key != own.encoder:
            made = f"with encoder {shown(own.encoder)}" if own.encoder else "without an encoder"
            problems.append(f"built {made}, not with {shown(key)}")
        if problems:
            todo = "build the index again with overwrite, or open it with what it was built from"
            raise DataError(f"{self.folder}: {'; '.join(problems)}; {todo}")

    def _deleted(self) -> np.ndarray | None:
        piece = self.manifest.deleted
        if piece is None:
            return None
        rows = open_array(self.folder / piece.name, np.int64, (piece.passages,))
        if len(rows) and (rows[0] < 0 or rows[-1] >= self.manifest.rows or not (np.diff(rows) > 0).all()):
            raise DataError(f"{self.folder / piece.name}: damaged (rows do not rise); build the index again")
        return np.asarray(rows)


def open_state(folder: Path) -> IndexState:
    """The folder's present state.

    Raises:
        DataError: as `IndexState`.
    """
    manifest = read_manifest(folder)
    try:
        return IndexState(folder, manifest)
    except DataError:
        if read_manifest(folder) == manifest:
            raise
    return open_state(folder)  # it was changed, and what the last state needed removed, between two reads
