"""Changes of a collection's folder: each writes new files beside the old ones and returns a manifest of the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bgr.collection.arrays import save_array, save_rows
from bgr.collection.corpus import Corpus
from bgr.collection.embedding import CHUNK, VectorStore
from bgr.collection.folder import ENCODED, Manifest, Piece, hashed
from bgr.collection.segments import VECTORS, FolderState, new_segment, no_encoder, verify, write_segment
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import Encoder
from bgr.collection.word_counts import keep_texts, merge
from bgr.errors import DataError
from bgr.utils.json_utils import repr_short


def first(
    folder: Path,
    number: str,
    corpus: Corpus,
    triples: Sequence[Triple],
    encoder: Encoder | None,
    key: str | None,
    *,
    half: bool,
    progress: bool,
) -> Manifest:
    """The files of a new collection; see `Collection.build`."""
    manifest = Manifest(corpus.hash, len(corpus), key, 0, half, ())
    if len(corpus):
        piece, width = new_segment(folder, number, corpus, encoder, key, half=half, progress=progress)
        manifest = replace(manifest, dimensions=width, segments=(piece,))
    elif encoder is not None:
        manifest = replace(manifest, dimensions=encoder([]).shape[1])
    return _with_index(folder, number, manifest, triples, encoder, None, progress) if triples else manifest


def added(
    state: FolderState, number: str, new: Corpus, triples: Sequence[Triple], encoder: Encoder | None, *, progress: bool
) -> tuple[Manifest, Corpus]:
    """A segment of new texts, and their triples; see `Collection.add`. Also returns all texts."""
    folder, now = state.folder, state.manifest
    try:
        corpus = state.corpus.extended(new)
    except ValueError as error:
        raise DataError(f"{folder}: {error}; nothing was added") from None
    piece, width = new_segment(folder, number, new, encoder, now.encoder, half=now.half, progress=progress)
    if width != now.dimensions:
        raise DataError(f"{folder}: vectors of {width} dimensions for a collection of {now.dimensions}")
    manifest = replace(now, corpus=corpus.hash, passages=len(corpus), segments=(*now.segments, piece))
    if not triples:
        return manifest, corpus
    rows = [triple._replace(passage=now.rows + triple.passage) for triple in triples]
    last = state.row_triples
    if last is None:
        return _with_index(folder, number, manifest, rows, encoder, None, progress), corpus
    index = replace(last, encoder=TripleEncoder(folder, now, encoder, last))
    index = index.changed(np.arange(now.rows), rows, progress=progress)
    return replace(manifest, triples=_write_triples(folder, number, manifest, index)), corpus


def deleted(state: FolderState, number: str, ids: Iterable[str]) -> tuple[Manifest, Corpus]:
    """A list of deleted rows, and the triples that are left; see `Collection.delete`. Also returns the texts that are
    left."""
    folder, corpus, gone = state.folder, state.corpus, set(ids)
    unknown = sorted(gone - corpus.index_of.keys())
    if unknown:
        raise DataError(f"{folder}: no passage has the id {repr_short(unknown[0])}; nothing was deleted")
    indices = np.array([corpus.index_of[name] for name in gone], dtype=np.int64)
    lost = np.sort(np.concatenate([state.live.deleted, state.live.row_of(indices)]))
    left = Corpus(passage for passage in corpus if passage.id not in gone)
    piece = Piece(f"deleted-{number}", len(lost))
    save_array(folder / piece.name, lost)
    manifest = replace(state.manifest, corpus=left.hash, passages=len(left), deleted=hashed(folder, piece))
    rows = np.arange(manifest.rows)
    rows[lost] = -1
    last = state.row_triples
    if last is None or not (rows[last.passages] < 0).any():
        return manifest, left
    return replace(manifest, triples=_write_triples(folder, number, manifest, last.changed(rows, []))), left


def with_triples(
    state: FolderState, number: str, triples: Sequence[Triple], encoder: Encoder | None, *, progress: bool
) -> Manifest:
    """A new triple index; see `Collection.set_triples`."""
    rows = state.live.row_of(np.array([triple.passage for triple in triples], dtype=np.int64)).tolist()
    moved = [triple._replace(passage=row) for triple, row in zip(triples, rows, strict=True)]
    there = state.row_triples
    if there is not None and list(there.triples) == moved:
        return state.manifest  # as after a kill when all was written
    return _with_index(state.folder, number, state.manifest, moved, encoder, there, progress)


def compacted(state: FolderState, number: str) -> Manifest:
    """One segment of all that is left, and its triples; see `Collection.compact`."""
    manifest = replace(state.manifest, segments=_one_segment(state, number), deleted=None)
    index = state.triples
    if index is None:
        return manifest
    piece = _write_triples(state.folder, number, manifest, index) if len(index) else None
    return replace(manifest, triples=piece)


class TripleEncoder:
    """Encodes texts of triples in the precision of the collection, unless an index or an interrupted run holds them.

    `encoder` is required if there are new texts; `last` is the triple index that is replaced.
    """

    def __init__(self, folder: Path, manifest: Manifest, encoder: Encoder | None, last: TripleIndex | None) -> None:
        self.dtype = np.float16 if manifest.half else np.float32
        self.width = manifest.dimensions
        self.store = VectorStore(encoder or no_encoder, folder / ENCODED, key=f"{manifest.encoder} triples")
        self.last = np.zeros((0, self.width), self.dtype) if last is None else last.vectors
        self.known = {triple.text: number for number, triple in enumerate(last.triples if last is not None else ())}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``[n, d]``, one vector for each text."""
        vectors = np.zeros((len(texts), self.width), dtype=self.dtype)
        new = [number for number, text in enumerate(texts) if text not in self.known]
        old = [number for number, text in enumerate(texts) if text in self.known]
        if old:
            vectors[old] = self.last[[self.known[texts[number]] for number in old]]
        if new and self.width:
            vectors[new] = self.store([texts[number] for number in new])
        return vectors


def _with_index(
    folder: Path,
    number: str,
    manifest: Manifest,
    triples: Sequence[Triple],
    encoder: Encoder | None,
    last: TripleIndex | None,
    progress: bool,
) -> Manifest:
    """The manifest with an index of new triples, whose passages are rows."""
    index = TripleIndex.build(triples, TripleEncoder(folder, manifest, encoder, last), progress=progress)
    return replace(manifest, triples=_write_triples(folder, number, manifest, index))


def _write_triples(folder: Path, number: str, manifest: Manifest, index: TripleIndex) -> Piece:
    """Write a triple index, whose passages are rows."""
    piece = Piece(f"triples-{number}", len(index))
    index.save(folder / piece.name, corpus_hash=manifest.corpus, encoder_key=manifest.encoder or "")
    return hashed(folder, piece)


def _one_segment(state: FolderState, number: str) -> tuple[Piece, ...]:
    """Write all passages that are left as one segment; none if no passage is left."""
    verify(state)  # damage would not be noticed later
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


def _vectors(state: FolderState) -> Iterator[np.ndarray]:
    for start in range(0, len(state.live), CHUNK):
        yield state.vectors.take(np.arange(start, min(start + CHUNK, len(state.live))))
