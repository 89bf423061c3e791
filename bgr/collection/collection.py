"""The collection: the textual database that retrievers search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from bgr.collection import changes
from bgr.collection.corpus import Corpus, Document, read_documents
from bgr.collection.folder import Manifest, Verified, changing, check_free, tidy
from bgr.collection.memory import MINILM, LazyEncoder, Memory, Part, Source, Triples, read_triples
from bgr.collection.search import HybridSearch, Search, check_subset
from bgr.collection.segments import FolderState, forget_encoded, open_state, verify
from bgr.collection.triples.extraction import Extracted, extract_triples
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.openie import Imported, read_openie
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import DenseSearch, Encoder, VectorRows
from bgr.errors import DataError
from bgr.llm.language_model import LanguageModel

Documents = Corpus | Iterable[Document] | str | Path


class Collection:
    """Texts with ids and titles, their words (BM25), vectors and triples, in a folder or in memory.

        collection = Collection.build(["Persona was made by Bergman.", "Bergman was born in Uppsala."], "work/films")
        collection = Collection.open("work/films")
        [hits] = collection.hybrid.search(["Where was the director of Persona born?"], k=2)
        [collection.corpus[index].text for index in hits.indices]
        collection.import_triples("openie.json")
        collection.add([{"id": "q1", "title": "Fårö", "text": "Fårö is an island."}])

    Each part is made or read when it is first asked for. A search keeps the state of the collection that it was taken
    from; after a change take a new one. One process at a time changes a folder, and whatever interrupts a change leaves
    the old state. Make one by `build`, `open`, `in_memory` or `subset`.
    """

    def __init__(self, source: Source, encoder: LazyEncoder, *, progress: bool = False) -> None:
        self._source = source
        self._lazy_encoder = encoder
        self.progress = progress

    @classmethod
    def build(
        cls,
        documents: Documents,
        folder: str | Path,
        *,
        encoder: Encoder | str | Path | None = MINILM,
        key: str | None = None,
        triples: Triples = (),
        half: bool = False,
        overwrite: bool = False,
        progress: bool = False,
    ) -> Collection:
        """Make a folder. An interrupted run, repeated, resumes; an old collection counts until the end.

        Args:
            documents: texts, objects ``{id, title, text}``, passages, or a corpus file; title and text are searched.
            folder: new, empty, or a collection that `overwrite` allows to replace.
            encoder: texts to unit vectors, or the local folder of a `SentenceEncoder`, by default the packaged MiniLM;
                ``None`` for BM25 alone.
            key: name of the encoder; needed where it has no method ``identity``.
            triples: `Triple.passage` is the index of a document; or an OpenIE file.
            half: keep vectors as float16, at half the size and a precision of three digits.
            overwrite: replace the collection that is there.
            progress: show bars on standard error.

        Raises:
            DataError: the folder is taken or cannot be written, another process is writing it, or the documents or
                triples are not valid.
            ValueError: an encoder without a key, or one that does not give unit vectors.
        """
        folder = Path(folder)
        check_free(folder, overwrite)
        lazy = LazyEncoder(encoder, key)
        model, name = lazy.encoder, lazy.key
        corpus = read_documents(documents)
        found = read_triples(triples, corpus)
        with changing(folder) as number:
            changes.first(folder, number, corpus, found, model, name, half=half, progress=progress).write(folder)
            tidy(folder)
            forget_encoded(folder)
        return cls(open_state(folder), lazy, progress=progress)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        encoder: Encoder | str | Path | None = MINILM,
        key: str | None = None,
        corpus: Corpus | None = None,
        progress: bool = False,
    ) -> Collection:
        """Open a folder; only its manifest is read, arrays are memory-mapped.

        Args:
            folder: made by `build`, or by an older version as an index folder.
            encoder, key: those of the build. The encoder is loaded when it is first needed.
            corpus: what the collection must hold; ``None`` accepts any.
            progress: show bars on standard error.

        Raises:
            DataError: no collection, damaged, or of another corpus or encoder; says what differs and what to do.
            ValueError: an encoder without a key.
        """
        state, lazy = open_state(Path(folder)), LazyEncoder(encoder, key)
        # an encoder that was named is compared now, the packaged one when it is needed
        later = encoder is None or (encoder == MINILM and key is None)
        state.check(corpus, None if later else lazy.key)
        return cls(state, lazy, progress=progress)

    @classmethod
    def in_memory(
        cls,
        documents: Documents,
        *,
        encoder: Encoder | str | Path | None = MINILM,
        key: str | None = None,
        triples: Triples = (),
        vectors_cache: str | Path | None = None,
        progress: bool = False,
    ) -> Collection:
        """A collection that is not kept and does not change.

        Args:
            documents, encoder, key: as for `build`; a key is needed only with `vectors_cache`.
            triples: as for `build`, or a function that makes them when they are first needed.
            vectors_cache: folder of vectors that are not encoded again the next time.
            progress: show bars on standard error.

        Raises:
            DataError: the documents or triples are not valid.
        """
        lazy = LazyEncoder(encoder, key)
        return cls(Memory(read_documents(documents), lazy, triples, vectors_cache, progress=progress), lazy)

    def subset(self, indices: Sequence[int] | np.ndarray) -> Collection:
        """Some of the texts as a collection of their own in memory; nothing is encoded again.

        Its searches equal those of a collection built over these texts alone (BM25 counts their words only).

        Raises:
            ValueError: an index is not in the collection, or stands twice.
        """
        chosen = check_subset(np.asarray(indices, dtype=np.int64), len(self))
        return Collection(Part(self._source, chosen), self._lazy_encoder)

    def __len__(self) -> int:
        return len(self._source)

    @property
    def folder(self) -> Path:
        """The folder of the collection; DataError in memory."""
        return self._state.folder

    @property
    def manifest(self) -> Manifest:
        """The description in the folder; DataError in memory."""
        return self._state.manifest

    @property
    def corpus(self) -> Corpus:
        """The texts, read from the folder when first asked for."""
        return self._source.corpus

    @property
    def hash(self) -> str:
        """SHA-256 of all ids, titles and texts in order (`Corpus.hash`)."""
        return self._source.hash

    @property
    def bm25(self) -> Search:
        """Search by words."""
        return self._source.bm25

    @property
    def vectors(self) -> VectorRows:
        """Unit vectors of the texts; DataError where there are none."""
        return self._source.vectors

    @cached_property
    def dense(self) -> DenseSearch:
        """Search by vectors.

        Raises:
            DataError: the collection has no vectors, or is open without its encoder, or with another.
        """
        vectors = self.vectors
        return DenseSearch(self.encoder, vectors)

    @cached_property
    def hybrid(self) -> HybridSearch:
        """Search by words and vectors, by reciprocal rank fusion."""
        return HybridSearch([self.bm25, self.dense])

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of queries, texts and triples.

        Raises:
            DataError: the collection is open without its encoder, or with another.
        """
        encoder = self._lazy_encoder.encoder
        if encoder is None:
            raise DataError(f"{self._source.name}: open the collection with its encoder and key")
        if isinstance(self._source, FolderState):
            self._source.check(None, self._lazy_encoder.key)
        return encoder

    @property
    def triples(self) -> Sequence[Triple]:
        """All triples, by passage index; empty where there are none."""
        index = self._source.triples
        return () if index is None else index.triples

    @cached_property
    def triples_hash(self) -> str:
        """SHA-256 of all triples in order."""
        return hashlib.sha256(json.dumps(list(self.triples)).encode()).hexdigest()

    @cached_property
    def triple_index(self) -> TripleIndex:
        """Search over triples, and the graph of those that share entities.

        Raises:
            DataError: the collection has no triples, or no vectors.
        """
        index = self._source.triples
        if index is None:
            raise DataError(f"{self._source.name}: the collection has no triples; import or extract them first")
        return replace(index, encoder=self.encoder)

    def add(self, documents: Documents, triples: Triples = ()) -> None:
        """Append documents as a segment of their own. An interrupted run resumes when repeated.

        Args:
            documents: as for `build`.
            triples: of the new documents; `Triple.passage` counts in `documents`.

        Raises:
            DataError: an id is taken, the folder was changed by somebody else or cannot be written, or the collection
                has vectors and is open without its encoder.
        """
        new = read_documents(documents)
        found = read_triples(triples, new)
        if not len(new):
            return
        with self._changing() as (state, number):
            self._commit(changes.added(state, number, new, found, self._own_encoder, progress=self.progress))
            forget_encoded(self.folder)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete texts by id, with their triples; the others keep their ids, and later ones move up in index.

        Raises:
            DataError: an id that no text has, or the folder was changed by somebody else or cannot be written.
        """
        gone = set(ids)
        if not gone:
            return
        with self._changing() as (state, number):
            self._commit(changes.deleted(state, number, gone))

    def set_triples(self, triples: Triples) -> None:
        """Replace all triples; texts of triples that the collection holds already are not encoded again.

        Args:
            triples: `Triple.passage` is in the corpus; or an OpenIE file.

        Raises:
            DataError: a triple is not valid, the folder was changed by somebody else or cannot be written, or the
                collection has vectors and is open without its encoder.
        """
        with self._changing() as (state, number):
            found = read_triples(triples, self.corpus)
            self._commit(changes.with_triples(state, number, found, self._own_encoder, progress=self.progress))
            forget_encoded(self.folder)

    def import_triples(self, path: str | Path) -> Imported:
        """Replace all triples by those of an OpenIE file, in HippoRAG's form, and give the counts of the import."""
        found = read_openie(path, self.corpus)
        self.set_triples(found.triples)
        return found

    def extract_triples(self, llm: LanguageModel, *, model: str, batch: int = 16) -> Extracted:
        """Ask a language model, `batch` texts at a time, for the triples of every text, and replace all triples.

        What is extracted under the model's name is kept in the folder: an interrupted run resumes, and after documents
        were added only those are asked for. Raises as `set_triples` and the language model do.
        """
        path = self.folder / "extractions.db"
        found = extract_triples(self.corpus, llm, path, model=model, batch=batch, progress=self.progress)
        self.set_triples(found.triples)
        return found

    def compact(self) -> None:
        """Make one segment of all and drop what was deleted; nothing is encoded or split into words again.

        Raises:
            DataError: a file is damaged, or the folder was changed by somebody else or cannot be written.
        """
        if self.manifest.deleted is None and len(self.manifest.segments) <= 1:
            return
        with self._changing() as (state, number):
            self._commit(changes.compacted(state, number))

    def verify(self) -> Verified:
        """Read all files and compare them with their hashes; DataError names those that hold something else.

        Opening a collection looks at sizes and shapes alone.
        """
        return verify(self._state, progress=self.progress)

    @property
    def _state(self) -> FolderState:
        if not isinstance(self._source, FolderState):
            raise DataError("a collection in memory has no folder and does not change; build it in a folder")
        return self._source

    @property
    def _own_encoder(self) -> Encoder | None:
        """The encoder that changes need; ``None`` where the folder has no vectors."""
        return self.encoder if self.manifest.encoder is not None else None

    @contextmanager
    def _changing(self) -> Iterator[tuple[FolderState, str]]:
        state = self._state
        with changing(state.folder) as number:
            if open_state(state.folder).manifest != state.manifest:
                raise DataError(f"{state.folder}: changed since it was opened; open it again")
            yield state, number

    def _commit(self, manifest: Manifest) -> None:
        """Put a new state in place of the last one, and remove the files that only that one needed."""
        manifest.write(self.folder)
        self._source = open_state(self.folder)
        tidy(self.folder)
        for name in ("dense", "hybrid", "triple_index", "triples_hash"):
            self.__dict__.pop(name, None)
