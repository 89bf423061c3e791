"""A toy encoder, search and language model for the tests of GEAR."""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers.scope import Scope

WIDTH = 64


def words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def bag_of_words(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors; texts are near each other as far as they share words."""
    vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in words(text):
            vector += np.random.default_rng(zlib.crc32(word.encode())).normal(size=WIDTH)
        vector /= max(np.linalg.norm(vector), 1e-9)
    return vectors


class WordSearch(Search):
    """Ranks texts by the number of words they share with the query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [set(words(text)) for text in texts]
        self.asked: list[str] = []

    def __len__(self) -> int:
        return len(self.texts)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        self.asked += queries
        return [self._hits(set(words(query)), k) for query in queries]

    def _hits(self, query: set[str], k: int) -> Hits:
        scores = np.array([len(query & text) for text in self.texts], dtype=np.float32)
        places = np.argsort(-scores, kind="stable")[:k]
        return Hits(places.astype(np.int64), scores[places])


class Script(LanguageModel):
    """Answers by step; a string instead of a value is a failure. Values must fit the request's schema."""

    def __init__(self, **steps: Callable[[str], Any]) -> None:
        self.steps = steps
        self.batches: list[list[Request]] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        value = self.steps[request.step.removeprefix("gear.")](request.messages[-1].content)
        if isinstance(value, str):
            return Reply(None, "gibberish", value, Usage(calls=2, failed=1, tokens_in=20, tokens_out=2))
        jsonschema.validate(value, request.schema)
        return Reply(value, "…", None, Usage(calls=1, tokens_in=10, tokens_out=1))


PASSAGES = (
    ("Ada Quist", "Ada Quist is an engineer. She works for the Borel foundry."),
    ("Borel foundry", "It was started in Tamrin by a smith."),
    ("Tamrin", "A town that lies on the Oxla."),
    ("Ada language", "Ada is a language for engineers who work with care."),
    ("Employer", "Who is an employer, and of whom, the law says."),
    ("Oxla", "A stream of ninety miles."),
)
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
def encode() -> Callable[[Sequence[str]], np.ndarray]:
    return bag_of_words


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(Passage(str(n), title, text) for n, (title, text) in enumerate(PASSAGES))


@pytest.fixture
def base(corpus: Corpus) -> WordSearch:
    return WordSearch([passage.whole for passage in corpus])


@pytest.fixture
def index() -> TripleIndex:
    return TripleIndex.build(TRIPLES, bag_of_words)


@pytest.fixture
def scope(corpus: Corpus, base: WordSearch, index: TripleIndex) -> Scope:
    return Scope(corpus, base, index)
