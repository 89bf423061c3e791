"""Texts that a collection searches without a folder of its own: in memory, or a part of another collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from bgr.collection.bm25 import Bm25Search, ScoredSearch
from bgr.collection.corpus import Corpus
from bgr.collection.embedding import VectorStore, load_encoder
from bgr.collection.options import EncoderSpec
from bgr.collection.segments import FolderState, no_encoder, no_vectors
from bgr.collection.spread import SpreadEncoder
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.openie import read_openie
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import Encoder, VectorRows, check_unit
from bgr.errors import DataError
from bgr.models.truncation import Truncation
from bgr.utils.json_utils import repr_short
from bgr.utils.ray_map import RayOptions

MINILM = "minilm"
"""Name of the packaged encoder."""

CHUNK = 1024
"""Number of texts that are encoded and kept together."""

Triples = Iterable[Triple] | Callable[[], Iterable[Triple]] | str | Path
"""Triples, a function that returns them when they are first needed, or the path of an OpenIE file."""


class LazyEncoder:
    """An encoder that is loaded when it is first needed.

    Args:
        encoder: texts to unit vectors, or `MINILM`, a local folder for a `SentenceEncoder`, an address for an
            `EmbeddingServer`, or an `EncoderSpec`; ``None`` for no vectors.
        key: name of the encoder; required if it has no method ``identity``.
        ray: workers that encode long lists of texts.
    """

    def __init__(
        self, encoder: Encoder | str | Path | EncoderSpec | None, key: str | None = None, ray: RayOptions | None = None
    ) -> None:
        if key is not None and (encoder is None or not key):
            raise ValueError(f"a key ({repr_short(key)}) without an encoder, or an empty one; give both or neither")
        self.given = encoder
        self._key = key
        self._ray = ray

    @cached_property
    def encoder(self) -> Encoder | None:
        """Texts to unit vectors; CheckpointError if the folder does not hold an encoder."""
        if self._here is None or self._ray is None or self._ray.ray is None:
            return self._here
        return SpreadEncoder(self._here, partial(_load, _anywhere(self.given)), self._ray)

    @cached_property
    def _here(self) -> Encoder | None:
        return _load(self.given)

    @property
    def truncation(self) -> Truncation:
        """How many of the texts encoded so far were truncated; of none if the encoder does not count them."""
        counted = getattr(self.encoder, "truncation", None) if "encoder" in vars(self) else None
        return counted if isinstance(counted, Truncation) else Truncation()

    @cached_property
    def key(self) -> str | None:
        """Name of the encoder, the same on every machine; ValueError if nothing names it."""
        if self._key is not None or self._here is None:
            return self._key
        identity = getattr(self._here, "identity", None)
        if identity is None:
            raise ValueError("an encoder needs a key that names it, SentenceEncoder.identity() or any text")
        return str(identity())


def _load(given: Encoder | str | Path | EncoderSpec | None) -> Any:
    """The encoder itself, that of a folder or an address, or none."""
    if isinstance(given, str | Path | EncoderSpec):
        return load_encoder(None if given == MINILM else given)
    return given


def _anywhere(given: Encoder | str | Path | EncoderSpec | None) -> Encoder | EncoderSpec | None:
    """The same encoder for a process with another working folder."""
    if given == MINILM or not isinstance(given, str | Path | EncoderSpec):
        return given if not isinstance(given, str | Path) else EncoderSpec()
    spec = given if isinstance(given, EncoderSpec) else EncoderSpec(given)
    return spec if spec.place is None or spec.is_server else replace(spec, place=Path(spec.place).absolute())


class Memory:
    """Texts in memory; see `Collection.in_memory`."""

    def __init__(
        self, corpus: Corpus, encoder: LazyEncoder, triples: Triples, cache: str | Path | None, *, progress: bool
    ) -> None:
        self.corpus, self._encoder, self._triples = corpus, encoder, triples
        self._cache, self._progress = cache, progress
        self.name = "collection in memory"

    @cached_property
    def bm25(self) -> Bm25Search:
        return Bm25Search([passage.whole for passage in self.corpus])

    @cached_property
    def vectors(self) -> VectorRows:
        texts = [passage.whole for passage in self.corpus]
        return VectorRows([check_unit(self._encode(texts), len(texts), "passages")])

    @cached_property
    def triples(self) -> TripleIndex | None:
        triples = read_triples(self._triples, self.corpus)
        if not triples:
            return None
        encode = no_vectors if self._encoder.encoder is None else self._encode
        return TripleIndex.build(triples, encode, progress=self._progress)

    @cached_property
    def _encode(self) -> Encoder:
        encoder = self._encoder.encoder
        if encoder is None:
            return no_encoder
        if self._cache is None:
            return encoder
        exact = getattr(encoder, "fingerprint", None)
        key = str(self._encoder.key) if exact is None else str(exact())
        return VectorStore(encoder, self._cache, key=key, chunk=CHUNK, progress=self._progress)


class Part:
    """Some texts of another collection, ``int64 [n]``, each once; nothing is encoded again."""

    def __init__(self, whole: Source, indices: np.ndarray) -> None:
        self.whole = whole
        self.indices = indices
        self.corpus: Corpus = Corpus(whole.corpus[index] for index in indices.tolist())
        self.name: str = f"{len(indices)} texts of {whole.name}"

    @cached_property
    def bm25(self) -> ScoredSearch:
        return self.whole.bm25.subset(self.indices)

    @cached_property
    def vectors(self) -> VectorRows:
        return VectorRows([self.whole.vectors.take(self.indices)])

    @cached_property
    def triples(self) -> TripleIndex | None:
        return None if self.whole.triples is None else self.whole.triples.of_passages(self.indices)


Source = FolderState | Memory | Part
"""The texts of a collection and what is derived from them: ``corpus``, ``bm25``, ``vectors`` and ``triples``."""


def read_triples(triples: Triples, corpus: Corpus) -> list[Triple]:
    """The triples of a corpus; DataError if the file cannot be read, or a passage does not exist."""
    if isinstance(triples, str | Path):
        return list(read_openie(triples, corpus).triples)
    found = list(triples() if callable(triples) else triples)
    for number, triple in enumerate(found):
        if not 0 <= triple.passage < len(corpus):
            raise DataError(f"triple {number} (from 0) is of passage {triple.passage}; allowed: 0 to {len(corpus) - 1}")
    return found
