"""A scripted model and a few questions for the tests of evidence graphs by a language model."""

from collections.abc import Callable, Sequence
from typing import Any

import jsonschema
import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.interface import Backend, Completion, LlmError, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query

FACTS = (
    "Persona was directed by Bergman.",
    "Radium is an element.",
    "Bergman was born in Uppsala.",
    "Uppsala lies on the Fyris.",
    "Persona was made in Sweden.",
    "The Fyris is 80 kilometres long.",
)
QUESTION = "How long is the river at the birthplace of the director of Persona?"
CHAIN = EvidenceGraph([(ROOT, 0), (0, 2), (2, 3), (3, 5)])


class Script(LanguageModel):
    """Gives one value after the other, the last one again and again; `Failure` in place of a value is a failure.

    Values must fit the request's schema, or be texts where there is none, unless `strict` is false.
    """

    def __init__(self, *values: Any, strict: bool = True) -> None:
        self.values = list(values)
        self.strict = strict
        self.batches: list[list[Request]] = []

    @property
    def texts(self) -> list[str]:
        return [request.messages[-1].content for batch in self.batches for request in batch]

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if isinstance(value, Failure):
            return Reply(None, "gibberish", str(value), Usage(calls=2, failed=1, tokens_in=20, tokens_out=2))
        if self.strict and request.schema is not None:
            jsonschema.validate(value, request.schema)
        elif self.strict:
            assert isinstance(value, str)
        return Reply(value, "as written", None, Usage(calls=1, tokens_in=10, tokens_out=1, seconds=0.5))


class Failure(str):
    """Why a scripted call fails."""


class Typist(Backend):
    """A backend that writes given texts, one after the other; ``None`` is a call that fails."""

    name = "typist"

    def __init__(self, *texts: str | None) -> None:
        self.texts = list(texts)

    def complete(self, requests: Sequence[Request]) -> list[Completion | LlmError]:
        done: list[Completion | LlmError] = []
        for request in requests:
            text = self.texts.pop(0)
            words = sum(len(message.content.split()) for message in request.messages)
            done.append(LlmError("typist: no paper") if text is None else Completion(text, words, len(text.split())))
        return done


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture
def failure() -> type[Failure]:
    return Failure


@pytest.fixture
def typist() -> type[Typist]:
    return Typist


@pytest.fixture
def query() -> Query:
    return Query(QUESTION, FACTS)


@pytest.fixture
def sample() -> Example:
    return Example("persona", QUESTION, FACTS, CHAIN, "80 kilometres", (), "query")


@pytest.fixture
def train() -> Callable[[], list[Example]]:
    """Ten questions of each structure, ``SC-SH-0`` and so on."""
    shapes = {
        "SC-SH": [(ROOT, 1)],
        "SC-MH": [(ROOT, 1), (1, 4)],
        "MC-SH": [(ROOT, 1), (ROOT, 4)],
        "MC-MH": [(ROOT, 1), (ROOT, 4), (1, 5), (4, 5)],
    }

    def make() -> list[Example]:
        return [
            Example(
                f"{name}-{number}",
                f"Question {number} of {name}?",
                tuple(f"Fact {n} of {name}-{number}." for n in range(12)),
                EvidenceGraph(edges),
                "yes",
                (),
                "query",
            )
            for name, edges in shapes.items()
            for number in range(10)
        ]

    return make
