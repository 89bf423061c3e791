"""A toy corpus with gold, a model that answers from a script, and pools whose judgements are written by hand."""

import math
import zlib

import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.vectors import DenseSearch
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.agent import BridgeRag
from bgr.retrievers.bridgerag.steps import BridgeSettings
from bgr.retrievers.scope import Scope
from eval.ablations.bridgerag_report import Judged

SMALL = BridgeSettings(first=2, queries=2, query_passages=2, kept=3, entity_passages=1, pool=4, top=2)
QUERIES = ["the Borel foundry was started in Tamrin", "Tamrin lies on the Oxla"]


def bag_of_words(texts):
    vectors = np.zeros((len(texts), 32), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() or [""]:
            vector += np.random.default_rng(zlib.crc32(word.encode())).normal(size=32)
        vector /= np.linalg.norm(vector)
    return vectors


class Script(LanguageModel):
    """Three good replies; `judge` may be changed."""

    def __init__(self):
        self.batches = []
        self.judge = {"scores": [1, 2, 3, 4]}

    def ask(self, requests):
        self.batches.append(list(requests))
        replies = {"queries": {"queries": QUERIES}, "entities": "Borel foundry | Tamrin", "judge": self.judge}
        usage = Usage(calls=1, tokens_in=10, tokens_out=1)
        return [Reply(replies[one.step.removeprefix("bridgerag.")], "…", None, usage) for one in requests]


@pytest.fixture
def data():
    rows = (
        ("Ada Quist", "Ada Quist is an engineer. She works for the Borel foundry."),
        ("Borel foundry", "It was started in Tamrin by a smith."),
        ("Tamrin", "A town that lies on the Oxla."),
        ("Ada language", "Ada is a language for engineers who work with care."),
        ("Employer", "Who is an employer, and of whom, the law says."),
        ("Oxla", "A stream of ninety miles."),
    )
    corpus = Corpus(Passage(f"p{n}", title, text) for n, (title, text) in enumerate(rows))
    text = "Ada Quist is an engineer who works for a foundry: where did it begin?"
    questions = (
        MultihopQuestion("q1", text, ("Tamrin",), ("p0", "p1"), 2, "2hop"),
        MultihopQuestion("q2", "What lies on the Oxla?", ("Tamrin",), ("p2",), 1, "1hop"),
    )
    return MultihopData("mini", corpus, questions)


@pytest.fixture
def dense(data):
    return DenseSearch.of_texts([passage.whole for passage in data.corpus], bag_of_words)


@pytest.fixture
def method(data, dense):
    return BridgeRag(Script(), Scope(data.corpus, dense), SMALL)


SIX = tuple(f"p{n}" for n in range(6))


@pytest.fixture
def judged():
    """``judged(id, kind, gold, last={system: n}, …)``: six candidates; a system puts candidate `n` last, and any other
    by place. ``None`` for `n` is a judge that failed."""

    def make(id, kind, gold, last=None, svo=None, scores=None, proximity=math.nan, spread=math.nan):
        last = last or {}
        scores = {name: tuple(map(float, row)) for name, row in (scores or {}).items()}
        for name, n in last.items():
            if name != "svo":
                scores[name] = None if n is None else tuple(float(m != n) for m in range(6))
        svo = svo or [float(n != last.get("svo", 5)) for n in range(6)]
        usage = {
            name: Usage(calls=1, tokens_in=100, tokens_out=10, failed=int(scores[name] is None)) for name in scores
        }
        usage["svo"] = Usage(calls=1, cached=1, tokens_in=50, tokens_out=5)
        question = MultihopQuestion(id, f"{id}?", (), tuple(gold), 2, kind)
        return Judged(question, tuple(range(6)), SIX, 3, tuple(svo), scores, usage, proximity, spread)

    return make
