"""Rival chains: entities that satisfy a program but for one constraint, and the proof that no answer is left."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Nodes
from bgr.data.reasongraphqa.construction.candidate_base import CandidateBase
from bgr.data.reasongraphqa.construction.rivals import RivalFinder
from tests.bgr.data.reasongraphqa.conftest import make_questions, program

LONG_FILMS = (("Find", "Ada Berg"), ("Relate", "director", "backward"), ("FilterNum", "runtime", "95 minute", ">"))


def parsed(*steps):
    return Program.from_json(program(*steps))


def rivals_of(kb, question, seed=0, count=60):
    return list(islice(RivalFinder(Executor(kb)).find(question, Random(seed)), count))


def test_the_rivals_of_a_filter_are_all_that_fail_it_each_with_its_own_value(kb):
    question = parsed(*LONG_FILMS, ("Count",))
    found = [rival for rival in rivals_of(kb, question) if rival.step == 2]
    # Ada Berg's films have numbers 0, 3, … 21 and last 80 minutes and their number
    assert {rival.entity for rival in found} == {"F0", "F3", "F6", "F9", "F12", "F15"}
    for rival in found:
        assert [(fact.head, fact.predicate) for fact in rival.facts] == [
            (rival.entity, "director"),
            (rival.entity, "runtime"),
        ]
        assert rival.failing.value.value <= 95


def test_the_rival_of_an_intersection_has_something_else_in_place_of_the_other_branch(kb):
    question = parsed(
        ("Find", "Ada Berg"), ("Relate", "director", "backward"),
        ("Find", "Dora Funk"), ("Relate", "cast member", "backward"), ("And", [1, 3]), ("Count",),
    )  # fmt: skip
    found = [rival for rival in rivals_of(kb, question) if rival.step == 4]
    people = {"Ada Berg": "P0", "Dora Funk": "P3"}
    assert found
    for rival in found:
        shown = {(fact.predicate, fact.tail) for fact in rival.facts}
        of_ada, of_dora = ("director", people["Ada Berg"]) in shown, ("cast member", people["Dora Funk"]) in shown
        assert of_ada != of_dora
        assert rival.failing.predicate == ("cast member" if of_ada else "director")
        assert rival.failing.tail not in people.values()


def test_the_rival_of_a_name_is_of_its_concept_and_leads_to_a_chain_of_its_own(kb):
    question = parsed(
        ("Find", "The 5th Winter"), ("Relate", "country of origin", "forward"), ("QueryAttr", "population")
    )
    found = rivals_of(kb, question)
    assert {rival.step for rival in found} == {0}
    assert all(rival.entity.startswith("F") and rival.entity != "F5" and rival.failing is None for rival in found)
    assert {tuple(fact.predicate for fact in rival.facts) for rival in found} == {("country of origin", "population")}


def test_a_relation_between_two_entities_has_rivals_at_both_ends(kb):
    asked = ("QueryRelationQualifier", "director", "point in time", [0, 1])
    question = parsed(("Find", "The 5th Winter"), ("Find", "Cai Moreau"), asked)
    assert rivals_of(kb, question) == []  # no statement has the qualifier
    question = parsed(("Find", "The 5th Winter"), ("Find", "Emil Gray"), ("QueryRelation", [0, 1]))
    found = rivals_of(kb, question)
    assert {rival.step for rival in found} == {0, 1}
    assert {fact.predicate for rival in found for fact in rival.facts} == {"cast member"}


@pytest.mark.parametrize("record", make_questions()[::3], ids=lambda record: record["question"][:30])
def test_rivals_of_any_question(kb, record):
    """Each rival failed its step, its facts are statements of the base, and equal seeds give equal rivals."""
    question = Program.from_json(record["program"])
    results = Executor(kb).results(question)
    found = rivals_of(kb, question, seed=3)
    assert found == rivals_of(kb, question, seed=3)
    for rival in found:
        assert isinstance(results[rival.step], Nodes)
        assert rival.entity not in results[rival.step].unique
        for fact in rival.facts:
            rows = kb.attributes(fact.head) if fact.tail is None else [row for row, _ in kb.relations(fact.head)]
            assert fact.statement in {row.fact().statement for row in rows}


@pytest.mark.parametrize("record", make_questions()[::3], ids=lambda record: record["question"][:30])
def test_the_gold_facts_among_rivals_give_the_answer_and_without_them_there_is_none(kb, record):
    question, base = Program.from_json(record["program"]), CandidateBase(kb)
    gold = Executor(kb).run(question).facts
    statements = {fact.statement for fact in gold}
    others = [fact for rival in rivals_of(kb, question) for fact in rival.facts if fact.statement not in statements]
    answer = base.answer(question, [*gold, *others])
    assert (answer if isinstance(answer, str) else answer[0]) == record["answer"]
    assert base.answer(question, others) is None


@pytest.mark.parametrize(
    ("steps", "missing"),
    [
        ((("Find", "Nordia"), ("Find", "Sudia"), ("SelectBetween", "population", "greater", [0, 1])), 0),
        ((*LONG_FILMS, ("QueryAttr", "review score"), ("VerifyNum", "10 percent", ">")), None),
        ((("Find", "Nordia"), ("QueryAttr", "population"), ("VerifyNum", "1", ">")), 0),
        (((*LONG_FILMS, ("Count",))), None),
    ],
)
def test_a_comparison_of_one_side_and_a_count_of_nothing_are_no_answers(kb, steps, missing):
    question = parsed(*steps)
    facts = list(Executor(kb).run(question).facts)
    base = CandidateBase(kb)
    assert base.answer(question, facts) is not None
    left = [] if missing is None else facts[:missing] + facts[missing + 1 :]
    assert base.answer(question, left) is None
