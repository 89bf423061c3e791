"""A small corpus in which a title occurs twice, and a search over given lists."""

from collections.abc import Sequence

import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search
from bgr.retrievers.prism.agent import Prism
from bgr.retrievers.prism.evidence import Candidates
from bgr.retrievers.prism.run import PAPER
from bgr.retrievers.scope import Scope

PASSAGES = (
    ("Halvorsen", ("Halvorsen is a bridge.", "Its designer was Mira Lund.")),
    ("Halvorsen", ("Halvorsen is a family of bakers.",)),
    ("Mira Lund", ("Mira Lund was born in Norway.", "She was fond of tea.", "She died in 1950.")),
    ("Norway", ("Norway is a country.",)),
    ("Tea", ("", "Tea is a drink.")),
)


class ListSearch(Search):
    """Finds the passages 0, 1, 2, 4 for every text, or those given for it."""

    def __init__(self, given: dict[str, Sequence[int]], size: int) -> None:
        self.given = given
        self.size = size

    def __len__(self) -> int:
        return self.size

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        found = [np.array(self.given.get(query, (0, 1, 2, 4))[:k], dtype=np.int64) for query in queries]
        return [Hits(one, (1 / np.arange(1, len(one) + 1)).astype(np.float32)) for one in found]


@pytest.fixture
def corpus():
    return Corpus(Passage(f"p{n}", title, " ".join(text)) for n, (title, text) in enumerate(PASSAGES))


@pytest.fixture
def sentences():
    """Of each passage by its id; the first of p4 is blank."""
    return {f"p{n}": text for n, (_, text) in enumerate(PASSAGES)}


@pytest.fixture
def candidates(corpus, sentences):
    """Passages 0, 1, 2, 4, which the model calls 1, 2, 3, 4."""
    return Candidates(corpus, (0, 1, 2, 4), sentences)


def by_question(*rows):
    """The reply of a draft or an adder: pairs of numbers, each with the number of its sub-question, or 0."""
    groups: dict[int, list[list[int]]] = {}
    for passage, sentence, *question in rows:
        groups.setdefault(question[0] if question else 0, []).append([passage, sentence])
    return {"evidence": [{"question": number, "sentences": found} for number, found in groups.items()]}


@pytest.fixture
def prism(script, corpus, sentences):
    """``prism(analyser=…, draft=…, adder=…, selector=…, answer=…)``: a retriever and its script. Every question has the
    passages 0, 1, 2, 4 unless `given` says others."""

    def make(settings=PAPER, *, given=None, llm=None, **steps):
        defaults = {
            "analyser": {"questions": ["Who designed it?", "Where was she born?"]},
            "draft": by_question([1, 1, 1]),
            "adder": by_question([3, 0, 2]),
            "selector": {"keep": [[1, 1], [3, 0]]},
            "answer": {"answerable": True, "answer": "Norway"},
        }
        model = llm or script(**(defaults | steps))
        scope = Scope(corpus, ListSearch(given or {}, len(corpus)))
        return Prism(model, scope, settings, sentences=sentences), model

    return make
