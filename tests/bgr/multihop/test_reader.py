"""Answers from the first passages of a list, by a scripted model."""

import pytest

from bgr.llm.llm import Asks, Reply
from bgr.llm.usage import Usage
from bgr.multihop.reader import AnsweringRetriever
from bgr.passages import PassageResult, PassageRetriever
from bgr.search.corpus import Corpus, Passage


class Script(Asks):
    def __init__(self, *replies):
        self.replies, self.requests = list(replies), []

    def ask(self, requests):
        self.requests += requests
        return [self.replies.pop(0) for _ in requests]


class Fixed(PassageRetriever):
    def retrieve(self, questions):
        found = PassageResult((2, 0, 1), (3.0, 2.0, 1.0), answer="own", usage=Usage(calls=3), seconds=1.0, trace=({},))
        return [found for _ in questions]


@pytest.fixture
def corpus():
    return Corpus(Passage(str(n), f"T{n}", f"text {n} with $question and {{braces}}") for n in range(3))


def test_reads_the_first_passages_and_adds_up(corpus):
    usage = Usage(calls=1, tokens_in=9, tokens_out=2)
    script = Script(
        Reply({"answer": "Oslo"}, '{"answer": "Oslo"}', None, usage),
        Reply(None, "?", "no object", Usage(calls=2, failed=1)),
    )
    one, other = AnsweringRetriever(Fixed(), script, corpus, passages=2).retrieve(["Where $passages?", "Who?"])
    assert (one.places, one.answer, one.usage) == ((2, 0, 1), "Oslo", Usage(calls=4, tokens_in=9, tokens_out=2))
    assert one.seconds >= 1.0
    assert one.trace[0] == {}
    assert one.trace[1]["answer"] == "Oslo"
    assert (other.answer, other.usage.calls, other.usage.failed) == (None, 5, 1)  # not the retriever's own
    assert other.trace[1]["failure"] == "no object"
    text = script.requests[0].messages[0].content
    assert "[1] T2\ntext 2 with $question and {braces}\n\n[2] T0\n" in text
    assert "T1" not in text
    assert "Question: Where $passages?" in text
    assert script.requests[0].step == "qa.answer"
