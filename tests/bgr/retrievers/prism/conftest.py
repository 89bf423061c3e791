"""A small corpus with a title that stands twice, a search over given lists, and a scripted language model."""

from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
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


class Script(LanguageModel):
    """Answers by step; a string instead of a value is a failure, an error is raised. Values must fit the schema."""

    def __init__(self, **steps: Callable[[str], Any]) -> None:
        self.steps = steps
        self.batches: list[list[Request]] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        value = self.steps[request.step.removeprefix("prism.")](request.messages[-1].content)
        if isinstance(value, Exception):
            raise value
        if isinstance(value, str):
            return Reply(None, "gibberish", value, Usage(calls=2, failed=1, tokens_in=20, tokens_out=2))
        jsonschema.validate(value, request.schema)
        return Reply(value, "…", None, Usage(calls=1, tokens_in=10, tokens_out=1))


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


def by_turn(*values):
    """A step that gives one value after the other, and then the last one again."""
    left = list(values)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def turns():
    return by_turn


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


@pytest.fixture
def prism(corpus, sentences):
    """``prism(analyser=…, draft=…, adder=…, selector=…, answer=…)``: a retriever and its script. Every question has the
    passages 0, 1, 2, 4 unless `given` says others."""

    def make(settings=PAPER, *, given=None, llm=None, **steps):
        defaults = {
            "analyser": {"questions": ["Who designed it?", "Where was she born?"]},
            "draft": {"evidence": [[1, 1, 1]]},
            "adder": {"evidence": [[3, 0, 2]]},
            "selector": {"keep": [[1, 1], [3, 0]]},
            "answer": {"answerable": True, "answer": "Norway"},
        }
        chosen = {name: steps.get(name, value) for name, value in defaults.items()}
        script = llm or Script(**{name: one if callable(one) else by_turn(one) for name, one in chosen.items()})

        scope = Scope(corpus, ListSearch(given or {}, len(corpus)))
        return Prism(script, scope, settings, sentences=sentences), script

    return make
