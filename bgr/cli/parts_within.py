"""Searches and triples over some of the passages, without encoding anything again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bgr.collection.corpus import Corpus
from bgr.collection.search import Search

if TYPE_CHECKING:
    from bgr.cli.passage_parts import PassageParts
    from bgr.collection.triples.index import TripleIndex
    from bgr.llm.language_model import Asks


class Parts(Protocol):
    """What a method on passages is made of."""

    @property
    def corpus(self) -> Corpus: ...
    @property
    def bm25(self) -> Search: ...
    @property
    def dense(self) -> Search: ...
    @property
    def hybrid(self) -> Search: ...
    @property
    def index(self) -> TripleIndex: ...
    @property
    def asks(self) -> Asks: ...


class PartsWithin:
    """Parts over the passages of one question.

    Args:
        whole: parts over the whole corpus.
        places: of the passages in it, each once.
        asks: the language model of this question.
    """

    def __init__(self, whole: PassageParts, places: Sequence[int], asks: Asks | None) -> None:
        self.whole = whole
        self.places = np.array(places, dtype=np.int64)
        self.corpus = Corpus(whole.corpus[place] for place in places)
        self._asks = asks

    @property
    def asks(self) -> Asks:
        return self._asks if self._asks is not None else self.whole.asks

    @cached_property
    def bm25(self) -> Search:
        from bgr.collection.bm25 import Bm25Search

        return Bm25Search([passage.whole for passage in self.corpus])

    @cached_property
    def dense(self) -> Search:
        from bgr.collection.vectors import DenseSearch, VectorRows

        return DenseSearch(self.whole.encoder, VectorRows([self.whole.vectors[self.places]]))

    @cached_property
    def hybrid(self) -> Search:
        from bgr.collection.search import HybridSearch

        return HybridSearch([self.bm25, self.dense])

    @cached_property
    def index(self) -> TripleIndex:
        moved = np.full(len(self.whole.corpus), -1, dtype=np.int64)
        moved[self.places] = np.arange(len(self.places))
        return self.whole.index.changed(moved, [])
