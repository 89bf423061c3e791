"""Answers from the first passages of a list, by a scripted model."""

from bgr.collection.corpus import Passage
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from eval.run.passage_answers import PassageReader


class Script(LanguageModel):
    def __init__(self, *replies):
        self.replies, self.requests = list(replies), []

    def ask(self, requests):
        self.requests += requests
        return [self.replies.pop(0) for _ in requests]


PASSAGES = [Passage(str(n), f"T{n}", f"text {n} with $question and {{braces}}") for n in (2, 0, 1)]


def test_reads_the_first_passages():
    usage = Usage(calls=1, tokens_in=9, tokens_out=2)
    script = Script(
        Reply({"answer": "Oslo"}, '{"answer": "Oslo"}', None, usage),
        Reply(None, "?", "no object", Usage(calls=2, failed=1)),
    )
    reader = PassageReader(script, passages=2)
    one, other = reader.read(["Where $passages?", "Who?"], [PASSAGES, []])
    assert (one.text, one.usage, one.step["answer"], one.step["failure"]) == ("Oslo", usage, "Oslo", None)
    assert one.seconds == other.seconds >= 0
    assert (other.text, other.usage.calls, other.usage.failed) == (None, 2, 1)
    assert (other.step["failure"], other.step["usage"]["failed"]) == ("no object", 1)
    text, alone = (request.messages[0].content for request in script.requests)
    assert "[1] T2\ntext 2 with $question and {braces}\n\n[2] T0\n" in text
    assert "T1" not in text
    assert "Question: Where $passages?" in text
    assert "(none)" in alone
    assert script.requests[0].step == "qa.answer"
