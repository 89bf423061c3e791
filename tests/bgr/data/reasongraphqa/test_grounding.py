"""Questions to gold facts and graphs, and each reason to drop one."""

from __future__ import annotations

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.reasongraphqa.construction import questions
from bgr.data.reasongraphqa.construction.questions import Dropped, Grounded, Question, ground, same_answer
from bgr.errors import DataError, ProgramError
from bgr.graph.evidence_graph import ROOT


def record(answer, *steps):
    program = [
        {"function": f, "dependencies": [] if f == "Find" else [n - 1], "inputs": list(inputs)}
        for n, (f, *inputs) in enumerate(steps)
    ]
    return {"question": "Q?", "answer": answer, "program": program}


def grounded(kb, item):
    return ground(Question.from_json(item, "x", "train.json: item 0"), Executor(kb))


def test_every_good_question_is_kept(kb, good_questions):
    outcomes = [grounded(kb, item) for item in good_questions]
    assert [o for o in outcomes if isinstance(o, Dropped)] == []
    assert {o.type for o in outcomes} == {"query", "comparison", "count", "boolean", "qualifier"}
    assert {o.graph.structure for o in outcomes} == {"SC-SH", "SC-MH", "MC-SH", "MC-MH"}


def test_facts_follow_the_program(kb):
    item = record("Norhaven", ("Find", "The 2nd Winter"), ("Relate", "country of origin", "forward"),
                  ("Relate", "capital", "forward"), ("What",))  # fmt: skip
    outcome = grounded(kb, item)
    assert isinstance(outcome, Grounded)
    assert [(f.head, f.predicate, f.tail) for f in outcome.facts] == [
        ("F2", "country of origin", "C0"),
        ("C0", "capital", "T0"),
    ]
    assert outcome.graph.edges == {(ROOT, 0), (0, 1)}


@pytest.mark.parametrize(
    ("answer", "steps", "reason"),
    [
        ("99 minute", [("Find", "The 2nd Winter"), ("QueryAttr", "runtime")], "another answer"),
        ("82 minute", [("Find", "Hamlet"), ("QueryAttr", "runtime")], "several answers"),
        ("x", [("Find", "Ada Berg"), ("Relate", "capital", "forward"), ("What",)], "no answer"),
        ("Ada Berg", [("Find", "Ada Berg"), ("What",)], "no fact"),
        ("x", [("Find", "Ada Berg"), ("SelectAmong", "runtime", "largest")], "the program cannot be executed"),
    ],
)
def test_reasons(kb, answer, steps, reason):
    outcome = grounded(kb, record(answer, *steps))
    assert isinstance(outcome, Dropped)
    assert outcome.reason == reason
    assert outcome.where == "train.json: item 0"


def test_too_many_facts(kb, monkeypatch):
    item = record("8", ("Find", "Ada Berg"), ("Relate", "director", "backward"), ("Count",))
    assert isinstance(grounded(kb, item), Grounded)
    monkeypatch.setattr(questions, "MAX_FACTS", 7)
    assert grounded(kb, item).reason == "more than 7 facts"


def test_a_cycle_is_dropped(kb):
    item = record("Nordia", ("Find", "Nordia"), ("Relate", "shares border with", "forward"),
                  ("Relate", "shares border with", "forward"), ("Relate", "shares border with", "forward"),
                  ("Relate", "shares border with", "forward"), ("What",))  # fmt: skip
    assert grounded(kb, item).reason == "the graph has a cycle"


def test_unknown_names_are_errors_that_name_the_item(kb):
    with pytest.raises(ProgramError, match=r"train.json: item 0, step 1 .*capitol"):
        grounded(kb, record("x", ("Find", "Nordia"), ("Relate", "capitol", "forward"), ("What",)))
    with pytest.raises(ProgramError, match=r"train.json: item 0, step 0 .*Nordland"):
        grounded(kb, record("x", ("Find", "Nordland"), ("What",)))


@pytest.mark.parametrize("field", ["question", "answer", "program"])
def test_a_missing_field_is_named(field):
    item = record("x", ("Find", "Nordia"), ("What",))
    del item[field]
    with pytest.raises(DataError, match=f"val.json: item 7.*{field}"):
        Question.from_json(item, "x", "val.json: item 7")


def test_phrasings_are_read():
    item = record("x", ("Find", "Nordia"), ("What",))
    assert Question.from_json(item, "x", "item 7").phrasings == ()
    read = Question.from_json({**item, "phrasings": ["relations/a/forward/vp: [is|are] {x}", "b: c"]}, "x", "item 7")
    assert read.phrasings == ("relations/a/forward/vp: [is|are] {x}", "b: c")


@pytest.mark.parametrize("phrasings", ["a", None, {"a": "b"}, [1], [["a"]], ["a", ""], ["\ud800"]])
def test_malformed_phrasings_are_refused(phrasings):
    item = {**record("x", ("Find", "Nordia"), ("What",)), "phrasings": phrasings}
    with pytest.raises(DataError, match=r"item 7: phrasings is .*, allowed: a list of non-empty texts"):
        Question.from_json(item, "x", "item 7")


@pytest.mark.parametrize(
    ("executed", "annotated", "same"),
    [
        ("yes", "Yes", True),
        ("96 minute", "96.0 minute", True),
        ("96 minute", "96 second", False),
        ("96", "96 minute", False),
        ("1957-02-06", "1957/2/6", True),
        ("1957-02-06", "1957", False),
        ("1000000", "1,000,000", True),
        ("The  Seal", "the seal", True),
        ("12.5", "12.6", False),
        ("Paris", "London", False),
    ],
)
def test_same_answer(executed, annotated, same):
    assert same_answer(executed, annotated) is same
