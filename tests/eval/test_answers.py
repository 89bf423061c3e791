"""Scores of answers, and the page of the wrong ones."""

from dataclasses import replace

import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.reader import ReaderAnswer, Span
from bgr.retrievers.base import RetrievalResult
from eval.report.answers import answers_text, write_answers
from eval.run.answers import ALL, GOLD, answers_of, operation_of

FACTS = ("Paris lies in France.", "Rome lies in <b>Italy</b>.")
GRAPH = EvidenceGraph([(ROOT, 0)])


def example(name, answer, function, **fields):
    program = ({"function": function, "dependencies": [], "inputs": []},)
    return Example(name, f"Question {name}?", FACTS, GRAPH, answer, program, "query", **fields)


EXAMPLES = [
    example("a", "Paris", "What"),
    example("b", "2", "Count"),
    example("c", "yes", "VerifyNum"),
    example("d", "3", "Count"),
]
NONE = [replace(example(name, "", "What"), graph=EvidenceGraph(), missing="all") for name in "ef"]


class Scripted:
    """Answers in the order of the questions."""

    def __init__(self, *answers):
        self.answers, self.items = answers, []

    def answer(self, items, **_):
        self.items = list(items)
        return [
            ReaderAnswer(text, sure, support=(1,), spans=(Span(1, 0, 4),)) for text, sure in self.answers[: len(items)]
        ]


def test_scores_by_operation_and_of_the_confidence():
    reader = Scripted(("Paris", 1.0), ("3", 0.5), ("no", 0.5), ("3", 1.0), (None, 0.0), ("Rome", 0.5))
    results = [RetrievalResult(GRAPH, completeness=0.75) for _ in EXAMPLES]
    refused = [RetrievalResult(EvidenceGraph()), RetrievalResult(GRAPH)]
    found = answers_of(reader, "fused", EXAMPLES, results, NONE, refused)
    assert [one.completeness for one in reader.items] == [0.75] * 4 + [None] * 2
    assert found.right == (True, False, False, True)
    assert found.exact == {ALL: (4, 0.5), "name": (1, 1.0), "count": (2, 0.5), "yes or no": (1, 0.0)}
    assert found.auc == 1.0  # both right answers are surer than both wrong ones
    # bins: 1.0 (two, both right), 0.5 (three, none right), 0.0 (one, not right)
    assert found.ece == pytest.approx(3 / 6 * 0.5)
    assert found.unanswerable_auc == pytest.approx((8 - 2 * 0.5) / 8)
    assert found.unanswerable_answered == 0.5
    assert [(one.place, one.right_graph) for one in found.wrong] == [(1, True), (2, True)]


def test_a_reader_without_confidence_has_no_calibration():
    reader = Scripted(("Paris", None), ("2", None), ("yes", None), ("3", None))
    found = answers_of(reader, GOLD, EXAMPLES, [RetrievalResult(GRAPH)] * 4)
    assert (found.ece, found.auc, found.unanswerable_auc, found.exact[ALL]) == (None, None, None, (4, 1.0))
    assert "by operation" in answers_text([found])


def test_the_page_shows_wrong_answers_as_text(tmp_path):
    reader = Scripted(("Paris", 0.9), ("<script>7</script>", 0.25), (None, 0.0), ("3", 0.8))
    found = answers_of(reader, "fused", EXAMPLES, [RetrievalResult(GRAPH)] * 4)
    write_answers(tmp_path, [found], EXAMPLES)
    page = (tmp_path / "answers.html").read_text()
    assert "&lt;script&gt;7&lt;/script&gt;" in page
    assert "<script>7" not in page
    assert "no answer" in page
    assert "&lt;b&gt;Italy" in page
    assert (tmp_path / "reliability.png").read_bytes().startswith(b"\x89PNG")
    assert "| fused | 50.0 |" in (tmp_path / "answers.md").read_text()


def test_operations():
    assert operation_of(example("x", "", "SelectBetween")) == "comparison"
    assert operation_of(example("x", "", "Unheard")) == "other"
    assert operation_of(replace(EXAMPLES[0], program=())) == "other"


def test_answers_that_nobody_knows_are_not_scored():
    reader = Scripted(("Paris", 1.0), ("Rome", 0.9), ("no", 0.5), ("3", 1.0))
    asked = [EXAMPLES[0], replace(EXAMPLES[1], answer=""), *EXAMPLES[2:]]
    found = answers_of(reader, GOLD, asked, [RetrievalResult(GRAPH)] * 4)
    assert (found.right, found.confidence) == ((True, False, True), (1.0, 0.5, 1.0))
    assert found.answers == ("Paris", "Rome", "no", "3")
    assert found.exact == {ALL: (3, 2 / 3), "name": (1, 1.0), "count": (1, 1.0), "yes or no": (1, 0.0)}
    assert [one.place for one in found.wrong] == [2]
    assert found.ece == pytest.approx(0.5 / 3)
