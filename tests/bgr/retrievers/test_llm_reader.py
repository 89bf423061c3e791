import json

import pytest

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.options import ServerOptions
from bgr.llm.usage import Usage
from bgr.reader.reader import Reader, ReaderInput
from bgr.retrievers.llm_graph.reader import LlmReader, open_reader

FACTS = ("Persona was made in Sweden.", "Stockholm is the capital of Sweden.")
GRAPH = EvidenceGraph([(ROOT, 0), (0, 1)])


class Scripted(LanguageModel):
    def __init__(self, *values):
        self.values, self.asked = list(values), []

    def ask(self, requests):
        self.asked += requests
        values = [self.values.pop(0) for _ in requests]
        return [Reply(value, json.dumps(value), None if value else "not JSON", Usage(calls=1)) for value in values]


def test_the_graph_is_read_and_the_completeness_is_the_confidence():
    llm = Scripted({"answer": "Stockholm"}, {"answer": "Sweden"}, None)
    reader: Reader = LlmReader(llm)
    question = "What is the capital of the country that made Persona?"
    items = [
        ReaderInput(question, FACTS, GRAPH, 0.75),
        ReaderInput("Where?", FACTS, EvidenceGraph()),
        ReaderInput("Where was Persona made?", FACTS, EvidenceGraph([(ROOT, 0)])),
        ReaderInput("Who made it?", FACTS, GRAPH, 0.9),
    ]
    found = reader.answer(items, batch_size=2)
    assert [(one.text, one.confidence) for one in found] == [
        ("Stockholm", 0.75), (None, 0.0), ("Sweden", None), (None, 0.0)
    ]  # fmt: skip
    assert len(llm.asked) == 3
    assert all(fact in llm.asked[0].messages[0].content for fact in (question, *FACTS))
    with pytest.raises(BgrError, match="cannot be stored in a checkpoint"):
        reader.save(None)


def test_alone_it_gets_the_question_only():
    llm = Scripted({"answer": "Rome"})
    [found] = LlmReader(llm).answer_alone(["Capital of Italy?"])
    assert (found.text, found.confidence) == ("Rome", None)


def test_what_is_no_reader_is_one_line(tmp_path):
    with pytest.raises(BgrError, match="no such file or folder; allowed: "):
        open_reader(tmp_path / "nothing.gguf")


class Silent(LanguageModel):
    """Every third call is never answered."""

    def __init__(self):
        self.count = 0

    def ask(self, requests):
        self.count += 1
        if self.count % 3:
            return [Reply({"answer": "Rome"}, "", None, Usage(calls=1))]
        return [Reply(None, "", "503", Usage(failed=1, unanswered=1))]


def test_more_failed_calls_than_the_share_end_the_run():
    questions = ["Capital of Italy?"] * 6
    with pytest.raises(BgrError, match=r"2 of 6 questions .* --max-failure-share 0\.2 allows: 503"):
        LlmReader(Silent(), max_failure_share=0.2).answer_alone(questions, batch_size=1)
    found = LlmReader(Silent(), max_failure_share=0.34).answer_alone(questions, batch_size=1)
    assert [one.text for one in found] == ["Rome", "Rome", None] * 2
    with pytest.raises(BgrError, match=r"1 of 6 questions .* 0\.02 allows"):
        LlmReader(Silent()).answer_alone(questions, batch_size=1)


def test_the_options_of_a_server_are_those_of_the_reader():
    options = ServerOptions(max_failure_share=0.5, concurrency=7, timeout=9)
    reader = open_reader("http://localhost:1/v1#m", server=options)
    assert (reader.max_failure_share, reader.llm.backend.concurrency, reader.llm.backend.timeout) == (0.5, 7, 9)
