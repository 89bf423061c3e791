"""A search by words, triples and a scope for the tests of GEAR."""

from collections.abc import Sequence

import numpy as np
import pytest

from bgr.collection.corpus import Corpus
from bgr.collection.search import Hits, Search
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.retrievers.scope import Scope


def words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() else " " for c in text.lower()).split())


class WordSearch(Search):
    """Ranks texts by the number of words they share with the query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [words(text) for text in texts]
        self.asked: list[str] = []

    def __len__(self) -> int:
        return len(self.texts)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        self.asked += queries
        return [self._hits(words(query), k) for query in queries]

    def _hits(self, query: set[str], k: int) -> Hits:
        scores = np.array([len(query & text) for text in self.texts], dtype=np.float32)
        places = np.argsort(-scores, kind="stable")[:k]
        return Hits(places.astype(np.int64), scores[places])


TRIPLES = (
    Triple("Ada Quist", "is", "engineer", 0),
    Triple("Ada Quist", "works for", "Borel foundry", 0),
    Triple("Borel foundry", "started in", "Tamrin", 1),
    Triple("Borel foundry", "started by", "smith", 1),
    Triple("Tamrin", "lies on", "Oxla", 2),
    Triple("Ada", "is", "language", 3),
    Triple("employer", "defined by", "law", 4),
    Triple("Oxla", "has length", "ninety miles", 5),
)


@pytest.fixture
def base(corpus: Corpus) -> WordSearch:
    return WordSearch([passage.whole for passage in corpus])


@pytest.fixture
def index(encode) -> TripleIndex:
    return TripleIndex.build(TRIPLES, encode)


@pytest.fixture
def scope(corpus: Corpus, base: WordSearch, index: TripleIndex) -> Scope:
    return Scope(corpus, base, index)
