"""Whether an index folder still holds what was written.

An index folder as it is at one moment: what searches read, whatever is added or deleted meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bgr.collection.arrays import open_array
from bgr.collection.bm25 import CountedBm25Search, LiveRows
from bgr.collection.corpus import Corpus
from bgr.collection.manifest import Manifest, digest, files_of, read_manifest
from bgr.collection.segment import Segment
from bgr.collection.vectors import VectorRows
from bgr.errors import DataError
from bgr.utils.json_utils import shown


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
