"""A scripted model, and requests for it."""

import pytest

from bgr.llm.interface import Backend, Completion, Message, Request

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["name", "size"],
    "additionalProperties": False,
}


class Script(Backend):
    """Answers the last message from a dict of lists, one entry per call, and records the requests.

    A text counts a token in for each message and a token out for each word.
    """

    name = "script"

    def __init__(self, replies):
        self.replies = {key: list(value) for key, value in replies.items()}
        self.batches = []

    def complete(self, requests):
        self.batches.append(list(requests))
        return [self._one(request) for request in requests]

    def _one(self, request):
        reply = self.replies[request.messages[0].content].pop(0)
        if isinstance(reply, Exception):
            return reply
        return Completion(reply, len(request.messages), len(reply.split()))

    @property
    def asked(self):
        return [request.messages[0].content for batch in self.batches for request in batch]


@pytest.fixture
def script():
    return Script


@pytest.fixture
def ask_for():
    """``ask_for("question", schema)``: a request."""

    def make(text, schema=None, *, step="test.step", **settings):
        return Request(step, (Message("user", text),), schema, **settings)

    return make


@pytest.fixture
def schema():
    return SCHEMA
