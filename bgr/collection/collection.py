"""The collection: the textual database that retrievers search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bgr.collection import changes
from bgr.collection.bm25 import ScoredSearch
from bgr.collection.corpus import Corpus, Document, read_documents
from bgr.collection.folder import Manifest, changing, check_free, hop_folders, read_manifest, tidy
from bgr.collection.hop_index import HopIndex, check_hops
from bgr.collection.memory import MINILM, LazyEncoder, Memory, Part, Source, Triples, read_triples
from bgr.collection.options import EncoderSpec
from bgr.collection.search import HybridSearch, check_subset
from bgr.collection.segments import FolderState, Verified, forget_encoded, open_state, verify
from bgr.collection.triples.extraction import Each, Extracted, extract_triples
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.openie import Imported, read_openie
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import DenseSearch, Encoder, VectorRows
from bgr.errors import DataError
from bgr.llm.language_model import LanguageModel
from bgr.llm.options import MAX_FAILURE_SHARE
from bgr.models.truncation import Truncation
from bgr.utils.ray_map import RayOptions

Documents = Corpus | Iterable[Document] | str | Path


class Collection:
    """Texts with ids and titles, their words (BM25), vectors and triples, in a folder or in memory.

        collection = Collection.build(["Persona was made by Bergman.", "Bergman was born in Uppsala."], "work/films")
        collection = Collection.open("work/films")
        [hits] = collection.hybrid.search(["Where was the director of Persona born?"], k=2)
        [collection.corpus[index].text for index in hits.indices]
        collection.import_triples("openie.json")
        collection.add([{"id": "q1", "title": "Fårö", "text": "Fårö is an island."}])

    Each part is computed or read when it is first used. A search keeps the state of the collection that it was taken
    from; take a new one after a change. One process at a time can change a folder, and an interrupted change leaves the
    old state. Create a collection by `build`, `open`, `in_memory` or `subset`.
    """

    def __init__(self, source: Source, encoder: LazyEncoder, *, progress: bool = False) -> None:
        self._source = source
        self._lazy_encoder = encoder
        self._hop_indexes: dict[tuple[int, int], tuple[Any, HopIndex]] = {}
        self.progress = progress

    @classmethod
    def build(
        cls,
        documents: Documents,
        folder: str | Path,
        *,
        encoder: Encoder | str | Path | EncoderSpec | None = MINILM,
        key: str | None = None,
        triples: Triples = (),
        half: bool = False,
        overwrite: bool = False,
        progress: bool = False,
        ray: RayOptions | None = None,
    ) -> Collection:
        """Create a collection in a folder. An interrupted build resumes when it is repeated.

        Args:
            documents: texts, objects ``{id, title, text}``, passages, or a corpus file; title and text are searched.
            folder: new, empty, or a collection to overwrite, which stays until the new one is complete.
            encoder: texts to unit vectors, the local folder of a `SentenceEncoder` (by default the packaged MiniLM), an
                `EmbeddingServer` as ``http://host/v1#model``, or an `EncoderSpec`; ``None`` for BM25 alone.
            key: name of the encoder; required if it has no method ``identity``.
            triples: triples whose `Triple.passage` is the index of a document, or an OpenIE file.
            half: keep vectors as float16, at half the size and a precision of three digits.
            overwrite: replace an existing collection.
            progress: show bars on standard error.
            ray: workers that encode the texts; the files are the same as without.

        Raises:
            BgrError: as `map_work`.
            DataError: the folder is taken or cannot be written, another process is writing it, or the documents or
                triples are not valid.
            ValueError: an encoder without a key, or one that does not give unit vectors.
        """
        folder = Path(folder)
        check_free(folder, overwrite)
        lazy = LazyEncoder(encoder, key, ray)
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
        encoder: Encoder | str | Path | EncoderSpec | None = MINILM,
        key: str | None = None,
        corpus: Corpus | None = None,
        verify: bool = True,
        progress: bool = False,
        ray: RayOptions | None = None,
    ) -> Collection:
        """Open a folder. Only its manifest and small arrays are read; large arrays are memory-mapped.

        Args:
            folder: written by `build`, also of an older version.
            encoder, key: those of the build. The encoder is loaded when it is first needed.
            corpus: texts that the collection must hold; ``None`` accepts any.
            verify: compare each file with its hash when it is first used, at about a second for each gigabyte.
            progress: show bars on standard error.
            ray: workers that encode texts which are added, and extract triples.

        Raises:
            DataError: no collection, a damaged one, or one of another corpus or encoder.
            ValueError: an encoder without a key.
        """
        state, lazy = open_state(Path(folder), verified=verify), LazyEncoder(encoder, key, ray)
        # an encoder that the caller names is compared now, the packaged one when it is first needed
        later = encoder is None or (encoder == MINILM and key is None)
        state.check(corpus, None if later else lazy.key)
        return cls(state, lazy, progress=progress)

    @classmethod
    def in_memory(
        cls,
        documents: Documents,
        *,
        encoder: Encoder | str | Path | EncoderSpec | None = MINILM,
        key: str | None = None,
        triples: Triples = (),
        vectors_cache: str | Path | None = None,
        progress: bool = False,
    ) -> Collection:
        """Create a collection in memory, which does not change; DataError if documents or triples are not valid.

        Args:
            documents, encoder, key: as for `build`; a key is required only with `vectors_cache`.
            triples: as for `build`, or a function that returns them when they are first needed.
            vectors_cache: folder in which vectors are kept for the next time.
            progress: show bars on standard error.
        """
        lazy = LazyEncoder(encoder, key)
        return cls(Memory(read_documents(documents), lazy, triples, vectors_cache, progress=progress), lazy)

    def subset(self, indices: Sequence[int] | np.ndarray) -> Collection:
        """Some of the texts as a collection in memory; nothing is encoded again.

        Its searches equal those of a collection built over these texts alone; BM25 uses their own word statistics.

        Raises:
            ValueError: an index is not in the collection, or is repeated.
        """
        chosen = check_subset(np.asarray(indices, dtype=np.int64), len(self))
        return Collection(Part(self._source, chosen), self._lazy_encoder)

    def __len__(self) -> int:
        source = self._source
        return source.manifest.passages if isinstance(source, FolderState) else len(source.corpus)

    @property
    def folder(self) -> Path:
        """The folder; DataError for a collection in memory."""
        return self._state.folder

    @property
    def manifest(self) -> Manifest:
        """The state of the folder; DataError for a collection in memory."""
        return self._state.manifest

    @property
    def corpus(self) -> Corpus:
        """The texts."""
        return self._source.corpus

    @property
    def hash(self) -> str:
        """SHA-256 of all ids, titles and texts in order (`Corpus.hash`)."""
        source = self._source
        return source.manifest.corpus if isinstance(source, FolderState) else source.corpus.hash

    @property
    def truncation(self) -> Truncation:
        """How many of the texts that were encoded since the collection was built or opened were longer than the encoder
        reads."""
        return self._lazy_encoder.truncation

    @property
    def bm25(self) -> ScoredSearch:
        """Search by words."""
        return self._source.bm25

    @property
    def vectors(self) -> VectorRows:
        """Unit vectors of the texts; DataError if there are none."""
        return self._source.vectors

    @cached_property
    def dense(self) -> DenseSearch:
        """Search by vectors; DataError if there are none, or as `encoder`."""
        vectors = self.vectors  # first, for its error
        return DenseSearch(self.encoder, vectors)

    @cached_property
    def hybrid(self) -> HybridSearch:
        """Search by words and vectors, combined by reciprocal rank fusion."""
        return HybridSearch([self.bm25, self.dense])

    def hop_index(self, tokenizer: Any, *, max_tokens: int) -> HopIndex:
        """The names in the texts and their token ids, for a search hop by hop (`HopSearch`).

        They are made when they are first needed, and kept in the folder if there is one. The arguments are those of
        `HopIndex.kept`, which also says what errors there are.
        """
        key = (id(tokenizer), max_tokens)
        if key not in self._hop_indexes:
            show = self.progress
            if isinstance(self._source, FolderState) and len(self):
                made = HopIndex.kept(
                    self.folder,
                    self.corpus,
                    tokenizer,
                    max_tokens=max_tokens,
                    verify=self._state.verified,
                    progress=show,
                )
            else:
                made = HopIndex.build(self.corpus, tokenizer, max_tokens=max_tokens, progress=show)
            self._hop_indexes[key] = tokenizer, made  # a tokenizer that is kept keeps its id
        return self._hop_indexes[key][1]

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of queries, texts and triples; DataError if the collection was opened without it."""
        encoder = self._lazy_encoder.encoder
        if encoder is None:
            raise DataError(f"{self._source.name}: open the collection with its encoder and key")
        if isinstance(self._source, FolderState):
            self._source.check(None, self._lazy_encoder.key)
        return encoder

    @property
    def triples(self) -> Sequence[Triple]:
        """All triples."""
        index = self._source.triples
        return () if index is None else index.triples

    @cached_property
    def triples_hash(self) -> str:
        """SHA-256 of all triples in order."""
        return hashlib.sha256(json.dumps(list(self.triples)).encode()).hexdigest()

    @cached_property
    def triple_index(self) -> TripleIndex:
        """Search over the triples, and the graph of triples that share entities; DataError if there are none."""
        index = self._source.triples
        if index is None:
            raise DataError(f"{self._source.name}: the collection has no triples; import or extract them first")
        return replace(index, encoder=self.encoder)

    def add(self, documents: Documents, triples: Triples = ()) -> None:
        """Append documents as a new segment. An interrupted addition resumes when it is repeated.

        Add many texts in one call: each call writes files of its own, all of which every search reads until `compact`,
        and with triples it writes those of the whole collection again.

        Args:
            documents: as for `build`.
            triples: triples whose `Triple.passage` is an index into `documents`, or an OpenIE file.

        Raises:
            DataError: an id is taken. All changes raise it if the folder was changed since it was opened or cannot be
                written, or if the collection has vectors and was opened without its encoder.
        """
        new = read_documents(documents)
        found = read_triples(triples, new)
        if not len(new):
            return
        with self._changing() as (state, number):
            self._commit(*changes.added(state, number, new, found, self._own_encoder, progress=self.progress))
            forget_encoded(self.folder)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete texts by id, with their triples; DataError if an id is unknown. Indices of later texts decrease."""
        gone = set(ids)
        if not gone:
            return
        with self._changing() as (state, number):
            self._commit(*changes.deleted(state, number, gone))

    def set_triples(self, triples: Triples) -> None:
        """Replace all triples, whose `Triple.passage` is an index into the corpus, or by those of an OpenIE file.

        Known texts of triples are not encoded again. Raises DataError if a triple is not valid.
        """
        with self._changing() as (state, number):
            found = read_triples(triples, state.corpus)
            manifest = changes.with_triples(state, number, found, self._own_encoder, progress=self.progress)
            self._commit(manifest, state.corpus)
            forget_encoded(self.folder)

    def import_triples(self, path: str | Path) -> Imported:
        """Replace all triples by those of an OpenIE file in HippoRAG's form, and return the counts of the import."""
        found = read_openie(path, self.corpus)
        self.set_triples(found.triples)
        return found

    def extract_triples(
        self,
        llm: LanguageModel,
        *,
        model: str,
        batch: int = 16,
        max_failure_share: float = MAX_FAILURE_SHARE,
        each: Each | None = None,
    ) -> Extracted:
        """Extract the triples of every text by a language model, `batch` texts at a time, and replace all triples.
        For the arguments see `bgr.collection.triples.extraction.extract_triples`.

        Results are kept in the folder under the name of the model: an interrupted run resumes, and after an addition
        only the new texts are sent. Raises as `set_triples` and the language model do.
        """
        path = self.folder / "extractions.db"
        found = extract_triples(
            self.corpus,
            llm,
            path,
            model=model,
            batch=batch,
            progress=self.progress,
            max_failure_share=max_failure_share,
            each=each,
        )
        self.set_triples(found.triples)
        return found

    def compact(self) -> None:
        """Merge all segments into one without deleted texts; nothing is encoded again. DataError for a damaged file."""
        if self.manifest.deleted is None and len(self.manifest.segments) <= 1:
            return
        with self._changing() as (state, number):
            self._commit(changes.compacted(state, number), state.corpus)

    def verify(self) -> Verified:
        """Compare all files with their hashes (`open` checks only sizes), also those of kept names and token ids;
        DataError names damaged or missing files."""
        found = verify(self._state, progress=self.progress)
        for home in hop_folders(self._state.folder):
            check_hops(home)
        return found

    @property
    def _state(self) -> FolderState:
        if not isinstance(self._source, FolderState):
            raise DataError("a collection in memory has no folder and does not change; build it in a folder")
        return self._source

    @property
    def _own_encoder(self) -> Encoder | None:
        """The encoder that changes need; ``None`` if the folder has no vectors."""
        return self.encoder if self.manifest.encoder is not None else None

    @contextmanager
    def _changing(self) -> Iterator[tuple[FolderState, str]]:
        state = self._state
        with changing(state.folder) as number:
            if read_manifest(state.folder) != state.manifest:
                raise DataError(f"{state.folder}: changed since it was opened; open it again")
            yield state, number

    def _commit(self, manifest: Manifest, corpus: Corpus) -> None:
        """Replace the state by one with these texts, and remove the files that only the old one needed."""
        last = self._state
        manifest.write(last.folder)
        now = FolderState(last.folder, manifest, verified=last.verified, last=last)
        now.corpus = corpus
        self._source = now
        tidy(last.folder)
        self._hop_indexes.clear()
        for name in ("dense", "hybrid", "triple_index", "triples_hash"):
            self.__dict__.pop(name, None)
