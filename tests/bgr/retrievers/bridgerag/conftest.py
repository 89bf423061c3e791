"""A toy encoder, corpus and language model for the tests of BridgeRAG."""

import zlib

import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.vectors import DenseSearch
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage

WIDTH = 64


def words(text):
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def bag_of_words(texts):
    """Unit vectors; texts are near each other as far as they share words."""
    vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in words(text) or [""]:
            vector += np.random.default_rng(zlib.crc32(word.encode())).normal(size=WIDTH)
        vector /= np.linalg.norm(vector)
    return vectors


class Fail(str):
    """A reply that could not be used, and why."""


class First(tuple):
    """A reply's likeliest first tokens."""


class Script(LanguageModel):
    """Answers by step, from a function of the prompt; a value that is no function is always the answer."""

    def __init__(self, **steps):
        self.steps = steps
        self.batches = []

    def ask(self, requests):
        self.batches.append(list(requests))
        return [self._reply(request) for request in requests]

    def _reply(self, request):
        value = self.steps[request.step.removeprefix("bridgerag.")]
        value = value(request.messages[-1].content) if callable(value) else value
        if isinstance(value, Exception):
            raise value
        if isinstance(value, Fail):
            return Reply(None, "gibberish", str(value), Usage(calls=2, failed=1, tokens_in=20, tokens_out=2))
        if isinstance(value, First):
            return Reply("", "", None, Usage(calls=1, tokens_in=5, tokens_out=1), tuple(value))
        return Reply(value, "…", None, Usage(calls=1, tokens_in=10, tokens_out=1))


PASSAGES = (
    ("Ada Quist", "Ada Quist is an engineer. She works for the Borel foundry."),
    ("Borel foundry", "It was started in Tamrin by a smith."),
    ("Tamrin", "A town that lies on the Oxla."),
    ("Ada language", "Ada is a language for engineers who work with care."),
    ("Employer", "Who is an employer, and of whom, the law says."),
    ("Oxla", "A stream of ninety miles."),
)


@pytest.fixture
def fail():
    return Fail


@pytest.fixture
def first():
    return First


@pytest.fixture
def script():
    return Script


@pytest.fixture
def encode():
    return bag_of_words


@pytest.fixture
def corpus():
    return Corpus(Passage(str(n), title, text) for n, (title, text) in enumerate(PASSAGES))


@pytest.fixture
def dense(corpus):
    return DenseSearch.of_texts([passage.whole for passage in corpus], bag_of_words)
