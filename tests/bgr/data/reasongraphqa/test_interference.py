"""Distractors: three kinds, none of which states or contradicts a gold fact."""

from __future__ import annotations

import datetime
from collections import Counter

import pytest

from bgr.data.kb.executor import Executor
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.construction.conflicts import RESTATED, SAME_TRIPLE, SAME_VALUE, GoldFacts
from bgr.data.reasongraphqa.construction.interference import Interference
from bgr.data.reasongraphqa.construction.questions import Question, ground
from bgr.data.reasongraphqa.construction.recipe import HARD, PAPER_KINDS, RANDOM, SAME_HEAD, SIMILAR, Mixture, shares
from bgr.data.reasongraphqa.construction.textual_database import FactUnit, TextualDatabase, meaning
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError

YEAR = (("point in time", Value("year", 1898)),)
SHORT = Value("quantity", 82, "minute")


def unit(*facts):
    return FactUnit("F0", facts, "S.", False)


def gold_facts(kb, gold):
    return GoldFacts(kb.name, gold, [unit(fact) for fact in gold])


def allows(kb, gold, *candidate):
    return gold_facts(kb, gold).allows(unit(*candidate))


@pytest.mark.parametrize(
    ("gold", "candidate", "allowed"),
    [
        # the statement itself, joined to another, with another qualifier, and in the other direction
        (Fact("F2", "runtime", SHORT), Fact("F2", "runtime", SHORT), False),
        (Fact("E0", "discoverer", tail="P1"), Fact("E0", "discoverer", None, "P1", YEAR), False),
        (Fact("C0", "shares border with", tail="C1"), Fact("C1", "shares border with", tail="C0"), False),
        # a second value of an attribute that the question means to have one
        (Fact("F2", "runtime", SHORT), Fact("F2", "runtime", Value("quantity", 99, "minute")), False),
        (Fact("F2", "runtime", SHORT), Fact("F3", "runtime", SHORT), True),
        # another film with the same name
        (Fact("F0", "runtime", SHORT), Fact("F1", "runtime", Value("quantity", 81, "minute")), False),
        (Fact("F0", "runtime", SHORT), Fact("F1", "director", tail="P1"), True),
        # another director, another predicate
        (Fact("F2", "director", tail="P1"), Fact("F2", "director", tail="P2"), True),
        (Fact("F2", "director", tail="P1"), Fact("F2", "runtime", SHORT), True),
        # stated or restated by a qualifier, in either direction
        (
            Fact("F0", "director", tail="P0"),
            Fact("F0", "cast member", None, "P0", (("object has role", Value("string", "director")),)),
            False,
        ),
        (Fact("E0", "time of discovery", Value("year", 1898)), Fact("E0", "discoverer", None, "P1", YEAR), False),
        (Fact("E0", "discoverer", None, "P1", YEAR), Fact("E0", "time of discovery", Value("year", 1898)), False),
        (Fact("E0", "discoverer", None, "P1", YEAR), Fact("E0", "country of discovery", None, "C0", YEAR), False),
    ],
)
def test_allowed_distractors(kb, gold, candidate, allowed):
    assert allows(kb, [gold], candidate) is allowed
    other = Fact("C1", "capital", tail="T1")
    assert allows(kb, [gold], other, candidate) is allowed


def test_a_value_asked_for_by_its_qualifier_leaves_room_for_the_other(kb):
    tomato = Fact("F2", "review score", Value("quantity", 52, "percent"), None, (("by", Value("string", "Tomato")),))
    meter = Fact("F2", "review score", Value("quantity", 42), None, (("by", Value("string", "Meter")),))
    assert allows(kb, [tomato], meter)
    assert not allows(kb, [Fact("F2", "review score", tomato.value)], meter)


SCORED = Fact("F2", "review score", Value("quantity", 52, "percent"), None, (("by", Value("string", "Tomato")),))
DATED = Fact(
    "F2", "release date", Value("date", datetime.date(1962, 3, 13)), None, (("in", Value("string", "Nordia")),)
)
IN_1962 = Fact("F2", "release date", Value("year", 1962), None, DATED.qualifiers)


@pytest.mark.parametrize(
    ("gold", "candidate", "how"),
    [
        (Fact("C0", "shares border with", tail="C1"), Fact("C1", "shares border with", tail="C0"), SAME_TRIPLE),
        (SCORED, Fact("F2", "review score", Value("quantity", 52, "percent")), SAME_VALUE),
        # an equal value in another unit, and an equal number in another unit
        (SCORED, Fact("F2", "review score", Value("quantity", 0.52)), SAME_VALUE),
        (SCORED, Fact("F2", "review score", Value("quantity", 52)), None),
        (
            Fact("F2", "runtime", SHORT, None, YEAR),
            Fact("F2", "runtime", Value("quantity", 4920.0, "second")),
            SAME_VALUE,
        ),
        # a date entails its year, a year does not entail the date
        (IN_1962, Fact("F2", "release date", DATED.value), SAME_VALUE),
        (DATED, Fact("F2", "release date", IN_1962.value), None),
        # another film with that name: a reader cannot distinguish the sentences
        (Fact("F0", "director", tail="P0"), Fact("F1", "director", tail="P0"), SAME_TRIPLE),
        (Fact("F0", "director", tail="P0"), Fact("F2", "director", tail="P0"), None),
        (Fact("F0", "director", tail="P0"), Fact("F0", "director", tail="P1"), None),
        (
            Fact("F0", "director", tail="P0"),
            Fact("F0", "cast member", None, "P0", (("object has role", Value("string", "director")),)),
            SAME_TRIPLE,
        ),
        (Fact("E0", "discoverer", None, "P1", YEAR), Fact("E0", "time of discovery", YEAR[0][1]), RESTATED),
    ],
)
def test_ways_of_entailment(kb, gold, candidate, how):
    told = gold_facts(kb, [gold])
    assert told.entailment(unit(candidate)) == how
    assert told.entailment(unit(Fact("C1", "capital", tail="T1"), candidate)) == how
    assert how is None or not told.allows(unit(candidate))


CASES = [(1, 25), (2, 25), (3, 25), (4, 20), (6, 25), (24, 25), (30, 25), (1, 10_000)]


@pytest.mark.parametrize(("gold", "candidates"), CASES)
def test_shares_are_thirds(gold, candidates):
    share = shares(gold, candidates)
    third, over = divmod(max(candidates - gold, 3), 3)
    assert share == {SIMILAR: third + (over > 1), SAME_HEAD: third + (over > 0), RANDOM: third}
    assert list(share) == list(PAPER_KINDS)


@pytest.mark.parametrize(("gold", "candidates"), CASES)
@pytest.mark.parametrize("mixture", [HARD, Mixture(0.4, 0.4, 0.2), Mixture(1, 0, 0), Mixture(0.7, 0, 0.3)], ids=str)
def test_shares_follow_the_mixture(gold, candidates, mixture):
    share = shares(gold, candidates, mixture)
    count = max(candidates - gold, 3)
    assert sum(share.values()) == count
    for kind, part in zip(PAPER_KINDS, (mixture.similar, mixture.same_head, mixture.random), strict=True):
        assert abs(share[kind] - count * part) < 1
        assert part or not share[kind]


def test_hard_means_more_that_looks_like_evidence():
    assert shares(2, 22, HARD) == {SIMILAR: 9, SAME_HEAD: 9, RANDOM: 2}


@pytest.mark.parametrize(
    "wrong", [(0.5, 0.5, 0.5), (0.5, 0.6, -0.1), (float("nan"), 0.5, 0.5), (0.5, float("nan"), 0.5), (0, 0, 0)]
)
def test_a_mixture_adds_up(wrong):
    with pytest.raises(DataError, match=r"mixture .*add up to 1"):
        Mixture(*wrong)
    assert Mixture(0.3333333, 0.3333333, 0.3333333)


@pytest.fixture(scope="module")
def drafts(kb, good_questions, encoder):
    return make_drafts(kb, good_questions, encoder)


@pytest.fixture(scope="module")
def hard(kb, good_questions, encoder):
    return make_drafts(kb, good_questions, encoder, mixture=HARD)


def make_drafts(kb, good_questions, encoder, wanted=20, **settings):
    executor = Executor(kb)
    kept = [ground(Question.from_json(q, f"q{n}", "f"), executor) for n, q in enumerate(good_questions)]
    facts = [fact for grounded in kept for fact in grounded.facts]
    data = TextualDatabase(kb, Verbalizer(kb), facts, joined_probability=0.3, seed=0)
    interference = Interference(data, encoder, seed=0, **settings)
    found = [interference.draft(grounded, wanted) for grounded in kept]
    for draft in found:
        interference.same_head(draft)
    interference.fill(found)
    return found


def test_drafts_are_full_and_of_all_kinds(drafts):
    for draft in drafts:
        assert len(draft.units) == draft.wanted == 20
        assert len({unit.sentence for unit in draft.units}) == 20
        assert draft.kinds.total() == 20 - len(draft.grounded.facts)
    assert all(sum(draft.kinds[kind] > 0 for draft in drafts) > 0.8 * len(drafts) for kind in PAPER_KINDS)


def test_the_mixture_is_followed(drafts, hard, kb, good_questions, encoder):
    totals = [sum((draft.kinds for draft in found), Counter()) for found in (drafts, hard)]
    assert totals[0].total() == totals[1].total()
    assert totals[1][RANDOM] < 0.6 * totals[0][RANDOM]
    assert all(totals[1][kind] > totals[0][kind] for kind in (SIMILAR, SAME_HEAD))
    # kinds with share 0 are not used to replace others, except for (c)
    for draft in make_drafts(kb, good_questions, encoder, mixture=Mixture(0, 1, 0)):
        assert draft.kinds[SIMILAR] == 0
        assert len(draft.units) == draft.wanted


def test_many_similar_ones_can_be_had(kb, good_questions, encoder):
    drafts = make_drafts(kb, good_questions, encoder, wanted=80, mixture=Mixture(1, 0, 0))
    assert all(draft.kinds[SIMILAR] > 64 for draft in drafts)


@pytest.mark.parametrize("mixture", ["drafts", "hard"])
def test_no_distractor_states_a_gold_fact(request, mixture):
    for draft in request.getfixturevalue(mixture):
        count = len(draft.grounded.facts)
        gold = {meaning(fact) for unit in draft.units[:count] for fact in unit.facts}
        for distractor in draft.units[count:]:
            assert not gold & {meaning(fact) for fact in distractor.facts}
        for fact, gold_unit in zip(draft.grounded.facts, draft.units[:count], strict=True):
            assert meaning(fact) == meaning(gold_unit.facts[0])


def test_same_head_is_about_the_gold_entities_and_asks_something_else(kb, drafts):
    for draft in drafts:
        facts = draft.grounded.facts
        near = {end for fact in facts for end in (fact.head, fact.tail)}
        asked = {(fact.head, fact.predicate) for fact in facts}
        first = draft.units[len(facts) : len(facts) + draft.kinds[SAME_HEAD]]
        assert all(unit.facts[0].head in near for unit in first)
        assert not any((unit.facts[0].head, unit.facts[0].predicate) in asked for unit in first)


def test_similar_distractors_are_the_nearest_allowed_units(drafts, encoder):
    draft = drafts[10]
    start = len(draft.grounded.facts) + draft.kinds[SAME_HEAD]
    similar = draft.units[start : start + draft.kinds[SIMILAR]]
    chance = draft.units[start + draft.kinds[SIMILAR] :]
    assert len(chance) == draft.kinds[RANDOM]
    question = encoder([draft.grounded.question.text])[0]
    near, far = (encoder([unit.sentence for unit in units]) @ question for units in (similar, chance))
    assert list(near) == sorted(near, reverse=True)
    assert near.mean() > far.mean()
