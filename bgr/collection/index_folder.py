"""Building an index folder.

An index on disk that passages are added to and deleted from without building it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from bgr.collection.arrays import save_array
from bgr.collection.bm25 import CountedBm25Search
from bgr.collection.changes import changing, check_free, one_segment, tidy
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.manifest import Manifest, Piece, hashed
from bgr.collection.search import HybridSearch
from bgr.collection.segment import forget_encoded, new_segment
from bgr.collection.state import Verified, open_state, verify
from bgr.collection.vectors import DenseSearch, Encoder, VectorRows
from bgr.errors import DataError
from bgr.utils.json_utils import shown


class IndexFolder:
    """An open index. Places are those of the passages that are left, in order, then of those added.

    The folder holds segments (passages as JSON lines, counts of words, vectors), a list of deleted rows, and a manifest
    that is replaced last: whatever interrupts a change leaves the old state. Opening reads the manifest alone and maps
    the arrays. A search that was taken from here keeps the state it was taken in; after a change take a new one.

    Args:
        folder: where `build_index` made it.
        corpus: what it must be of; ``None`` takes it as it is.
        encoder: of queries and of added passages; not needed for BM25.
        key: names the encoder, and must be that of the build: `SentenceEncoder.identity`, or any text.
        progress: show a bar on standard error while passages are encoded, or files verified.

    Raises:
        DataError: no index, damaged, or of another corpus or encoder; says what differs and what to do.
        ValueError: an encoder without a key.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        corpus: Corpus | None = None,
        encoder: Encoder | None = None,
        key: str | None = None,
        progress: bool = False,
    ) -> None:
        check_key(encoder, key)
        self.folder = Path(folder)
        self.encoder = encoder
        self.progress = progress
        self._state = open_state(self.folder)
        self._state.check(corpus, key)

    def __len__(self) -> int:
        return self.manifest.passages

    @property
    def manifest(self) -> Manifest:
        """What the folder says of itself."""
        return self._state.manifest

    @property
    def corpus(self) -> Corpus:
        """The passages that are left, read from the folder when first asked for."""
        return self._state.corpus

    @property
    def vectors(self) -> VectorRows:
        """Their vectors; DataError where the index has none."""
        return self._state.vectors

    def bm25(self) -> CountedBm25Search:
        """Search by words."""
        return self._state.bm25

    def dense(self) -> DenseSearch:
        """Search by vectors.

        Raises:
            DataError: the index has no vectors, or was opened without its encoder.
        """
        vectors = self.vectors
        return DenseSearch(self._encoder(), vectors)

    def hybrid(self) -> HybridSearch:
        """Both, fused."""
        return HybridSearch([self.bm25(), self.dense()])

    def add(self, passages: Sequence[Passage]) -> None:
        """Append passages as a segment of their own. A cut-off run goes on from the vectors it had when repeated.

        Raises:
            DataError: an id is taken, the folder was changed by somebody else or cannot be written, or the index has
                vectors and was opened without its encoder.
        """
        if not passages:
            return
        with self._changing() as number:
            try:
                corpus = Corpus([*self.corpus, *passages])
            except ValueError as error:
                raise DataError(f"{self.folder}: {error}; nothing was added") from None
            now = self.manifest
            encoder = self._encoder() if now.encoder is not None else None
            options = {"half": now.half, "progress": self.progress}
            piece, width = new_segment(self.folder, number, passages, encoder, now.encoder, **options)
            if width != now.dimensions:
                raise DataError(f"{self.folder}: vectors of {width} dimensions for an index of {now.dimensions}")
            self._commit(replace(now, corpus=corpus.hash, passages=len(corpus), segments=(*now.segments, piece)))
            forget_encoded(self.folder)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete passages by id; the others keep their ids, and those behind move up in place.

        Raises:
            DataError: an id that no passage has, or the folder was changed by somebody else or cannot be written.
        """
        gone = set(ids)
        if not gone:
            return
        with self._changing() as number:
            unknown = sorted(gone - self.corpus.index_of.keys())
            if unknown:
                raise DataError(f"{self.folder}: no passage has the id {shown(unknown[0])}; nothing was deleted")
            live = self._state.live
            places = np.array([self.corpus.index_of[name] for name in gone], dtype=np.int64)
            deleted = np.sort(np.concatenate([live.deleted, live.row_of(places)]))
            corpus = Corpus(passage for passage in self.corpus if passage.id not in gone)
            piece = Piece(f"deleted-{number}", len(deleted))
            save_array(self.folder / piece.name, deleted)
            piece = hashed(self.folder, piece)
            self._commit(replace(self.manifest, corpus=corpus.hash, passages=len(corpus), deleted=piece))

    def compact(self) -> None:
        """Make one segment of all and drop what was deleted; nothing is encoded or split into words again.

        Raises:
            DataError: a file is damaged, or the folder was changed by somebody else or cannot be written.
        """
        if self.manifest.deleted is None and len(self.manifest.segments) <= 1:
            return
        with self._changing() as number:
            self._commit(replace(self.manifest, segments=one_segment(self._state, number), deleted=None))

    def verify(self) -> Verified:
        """Read all files and compare them with their hashes; opening the index looks at sizes and shapes alone.

        Raises:
            DataError: files are missing or hold something else; the message names them.
        """
        return verify(self._state, progress=self.progress)

    def _encoder(self) -> Encoder:
        if self.encoder is None:
            raise DataError(f"{self.folder}: open the index with its encoder and key ({shown(self.manifest.encoder)})")
        return self.encoder

    @contextmanager
    def _changing(self) -> Iterator[str]:
        with changing(self.folder) as number:
            if open_state(self.folder).manifest != self.manifest:
                raise DataError(f"{self.folder}: changed since it was opened; open it again")
            yield number

    def _commit(self, manifest: Manifest) -> None:
        manifest.write(self.folder)
        self._state = open_state(self.folder)
        tidy(self.folder)


def check_key(encoder: Encoder | None, key: str | None) -> None:
    """Refuse an encoder that nothing names.

    Raises:
        ValueError: there is an encoder without a key, or an empty key.
    """
    if (encoder is not None and not key) or (key is not None and not key):
        raise ValueError("an encoder needs a key that names it, SentenceEncoder.identity() or any text")


def build_index(
    folder: str | Path,
    corpus: Corpus,
    *,
    encoder: Encoder | None = None,
    key: str | None = None,
    half: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> IndexFolder:
    """Index a corpus. A cut-off run, repeated, goes on from the vectors it had; an old index counts until the end.

    Args:
        folder: new, empty, or an index that `overwrite` allows to replace.
        corpus: the passages; title and text are searched.
        encoder: texts to unit vectors; ``None`` for BM25 alone.
        key: names the encoder: `SentenceEncoder.identity`, or any text.
        half: keep vectors as float16, at half the size and a precision of three digits.
        overwrite: replace the index that is there.
        progress: show a bar on standard error.

    Raises:
        DataError: the folder is taken or cannot be written, or another process is writing it.
        ValueError: an encoder without a key, or one that does not give unit vectors.
    """
    check_key(encoder, key)
    if encoder is None and key is not None:
        raise ValueError(f"a key ({key}) without an encoder; give both or neither")
    folder = Path(folder)
    check_free(folder, overwrite)
    with changing(folder) as number:
        segments: tuple[Piece, ...] = ()
        width = 0
        if len(corpus):
            piece, width = new_segment(folder, number, corpus, encoder, key, half=half, progress=progress)
            segments = (piece,)
        elif encoder is not None:
            width = encoder([]).shape[1]
        Manifest(corpus.hash, len(corpus), key, width, half, segments).write(folder)
        tidy(folder)
        forget_encoded(folder)
    return IndexFolder(folder, encoder=encoder, key=key, progress=progress)
