"""Each failure has exactly one kind, by the stated precedence."""

import json

import pytest

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from eval.report.evaluation import errors_document, errors_table, errors_text, write_errors
from eval.run.breakdown import ERROR_KINDS, count_errors, error_kind
from eval.run.evaluate import Predictions, evaluate

Q = ROOT
GOLD = [(Q, 0), (0, 1), (Q, 2), (2, 3)]  # two chains of two
JOINED = [(Q, 0), (Q, 1), (0, 2), (1, 2), (2, 3)]  # two chains that meet


@pytest.mark.parametrize(
    ("gold", "predicted", "kind"),
    [
        (GOLD, GOLD, None),
        ([], [], None),
        (GOLD, [], "missed_fact"),
        (GOLD, [(Q, 0), (0, 1), (Q, 2)], "missed_fact"),
        (GOLD, [(Q, 0), (0, 1), (Q, 2), (2, 4)], "missed_fact"),  # and an extra one: what is missed goes first
        ([], [(Q, 0)], "extra_fact"),
        (GOLD, [*GOLD, (3, 4)], "extra_fact"),
        (GOLD, [(Q, 1), (1, 0), (Q, 2), (2, 3), (Q, 4)], "extra_fact"),  # and a wrong direction
        (GOLD, [(Q, 1), (1, 0), (Q, 2), (2, 3)], "wrong_direction"),
        (JOINED, [(Q, 3), (3, 0), (Q, 1), (1, 2)], "wrong_direction"),  # against a path, not only against an edge
        (GOLD, [(Q, 1), (1, 0), (Q, 2), (0, 3)], "wrong_direction"),  # and a wrong chain
        (GOLD, [(Q, 0), (0, 1), (Q, 2), (0, 3)], "wrong_chain"),
        (GOLD, [*GOLD, (0, 3)], "wrong_chain"),
        (GOLD, [(Q, 0), (0, 1), (1, 2), (2, 3)], "wrong_chain"),
        (GOLD, [(Q, 0), (Q, 1), (Q, 2), (2, 3)], "wrong_edge"),
        (GOLD, [*GOLD, (Q, 3)], "wrong_edge"),
        (JOINED, [(Q, 0), (Q, 1), (0, 2), (2, 3)], "wrong_edge"),
        (JOINED, [*JOINED, (0, 3)], "wrong_edge"),  # a shortcut along its own chain
    ],
)
def test_kind_of_a_graph(gold, predicted, kind):
    for answer_right in (None, True):
        assert error_kind(EvidenceGraph(predicted), EvidenceGraph(gold), answer_right) == kind
    wrong_answer = error_kind(EvidenceGraph(predicted), EvidenceGraph(gold), False)
    assert wrong_answer == (kind or "reader")  # the reader is blamed for right graphs alone


@pytest.fixture
def counts(examples, imperfect):
    answers = [None if number == 0 else "yes" for number in range(len(examples))]
    systems = {"graphs": Predictions(imperfect), "read": Predictions(imperfect, answers=answers)}
    return [count_errors(one, examples) for one in evaluate(systems, examples)]


def test_each_failure_is_counted_once(counts, examples, imperfect):
    graphs, read = counts
    wrong = [e.id for e, result in zip(examples, imperfect, strict=True) if result.graph.edges != e.graph.edges]
    assert sorted(name for ids in graphs.ids.values() for name in ids) == sorted(wrong)
    assert (graphs.n, graphs.failures) == (30, len(wrong))
    assert list(graphs.ids) == list(ERROR_KINDS)
    assert read.ids["reader"] == ("q0",)  # the graph of q0 is right, its answer is not
    assert read.failures == graphs.failures + 1


def test_a_perfect_system_has_no_failures(examples):
    gold = [RetrievalResult(example.graph) for example in examples]
    assert count_errors(evaluate({"gold": Predictions(gold)}, examples)[0], examples).failures == 0


def test_reports(counts, examples, tmp_path):
    table = errors_table(counts)
    header, rows = table.header, table.rows
    assert header == ["system", "n", "failed", *(kind.replace("_", " ") for kind in ERROR_KINDS)]
    for one, row in zip(counts, rows, strict=True):
        assert row == [one.system, "30", str(one.failures), *(str(len(ids)) for ids in one.ids.values())]
    assert all(meaning in errors_text(counts) for meaning in ERROR_KINDS.values())
    assert "reader (1)\n\n- `q0` Question 0 about" in errors_document(counts, examples).as_markdown()
    write_errors(tmp_path, counts, examples)
    written = json.loads((tmp_path / "errors.json").read_text())
    assert list(written) == [one.system for one in counts]
    for one in counts:
        assert (written[one.system]["n"], written[one.system]["failures"]) == (one.n, one.failures)
        assert {kind: tuple(found["ids"]) for kind, found in written[one.system]["kinds"].items()} == one.ids
    assert written["read"]["kinds"]["reader"] == {"count": 1, "ids": ["q0"]}
    assert (tmp_path / "errors.md").read_text().startswith("# Errors")
