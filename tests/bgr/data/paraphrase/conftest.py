"""Questions with programs, and a model that writes from a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bgr.data.reasongraphqa.construction.questions import Question
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage


def make_question(text: str, *steps: tuple, answer: str = "an answer", id: str = "q0") -> Question:
    """Steps (function, inputs…); each depends on the step before, unless its last item is a list of numbers."""
    records = []
    for number, (function, *given) in enumerate(steps):
        inputs: list[Any] = list(given)
        dependencies = [] if function in ("Find", "FindAll") else [number - 1]
        if inputs and isinstance(inputs[-1], list):
            dependencies = inputs.pop()
        records.append({"function": function, "dependencies": dependencies, "inputs": inputs})
    return Question.from_json({"question": text, "program": records, "answer": answer}, id, id)


@pytest.fixture
def question():
    """See `make_question`."""
    return make_question


class Script(LanguageModel):
    """Answers from a list of lists of wordings, or of failures as texts; remembers the requests and their batches."""

    def __init__(self, replies: Sequence[list[str] | str]) -> None:
        self.replies = list(replies)
        self.batches: list[list[Request]] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(list(requests))
        return [self._reply(self.replies.pop(0)) for _ in requests]

    def _reply(self, given: list[str] | str) -> Reply:
        if isinstance(given, str):
            return Reply(None, "", given, Usage(failed=1))
        return Reply({"questions": given}, "", None, Usage(calls=1, tokens_in=5, tokens_out=2))


@pytest.fixture
def script():
    return Script
