"""A toy encoder, a small corpus and a scripted language model."""

import zlib

import jsonschema
import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage

WIDTH = 64
PASSAGES = (
    ("Ada Quist", "Ada Quist is an engineer. She works for the Borel foundry."),
    ("Borel foundry", "It was started in Tamrin by a smith."),
    ("Tamrin", "A town that lies on the Oxla."),
    ("Ada language", "Ada is a language for engineers who work with care."),
    ("Employer", "Who is an employer, and of whom, the law says."),
    ("Oxla", "A stream of ninety miles."),
)


def words(text):
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def bag_of_words(texts):
    """Unit vectors; texts that share words are near each other."""
    vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in words(text) or [""]:
            vector += np.random.default_rng(zlib.crc32(word.encode())).normal(size=WIDTH)
        vector /= np.linalg.norm(vector)
    return vectors


class Fail(str):
    """An unusable reply, and the reason."""


class First(tuple):
    """The most likely first tokens of a reply."""


class Script(LanguageModel):
    """Answers by step with a value or a function of the prompt. A `Fail` is a failure, and an exception is raised.

    With `strict`, any text is a failure, a list gives one value after the other, the last one again and again, and
    values must fit the request's schema.
    """

    def __init__(self, *, strict=True, **steps):
        self.strict = strict
        self.steps = {name: list(step) if isinstance(step, list) else step for name, step in steps.items()}
        self.batches = []

    def ask(self, requests):
        self.batches.append(list(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request):
        value = self.steps[request.step.partition(".")[2]]
        if self.strict and isinstance(value, list):
            value = value.pop(0) if len(value) > 1 else value[0]
        value = value(request.messages[-1].content) if callable(value) else value
        if isinstance(value, Exception):
            raise value
        if isinstance(value, str if self.strict else Fail):
            return Reply(None, "gibberish", str(value), Usage(calls=2, failed=1, tokens_in=20, tokens_out=2))
        if isinstance(value, First):
            return Reply("", "", None, Usage(calls=1, tokens_in=5, tokens_out=1), tuple(value))
        if self.strict:
            jsonschema.validate(value, request.schema)
        return Reply(value, "…", None, Usage(calls=1, tokens_in=10, tokens_out=1))


@pytest.fixture
def script():
    return Script


@pytest.fixture
def fail():
    return Fail


@pytest.fixture
def first():
    return First


@pytest.fixture
def encode():
    return bag_of_words


@pytest.fixture
def corpus():
    return Corpus(Passage(str(n), title, text) for n, (title, text) in enumerate(PASSAGES))
