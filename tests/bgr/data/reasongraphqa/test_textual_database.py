"""Every statement is in one sentence."""

from __future__ import annotations

import pytest

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase, meaning
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer, missing_parts

TOMATO = (("review score by", Value("string", "Tomato")),)
SCORE = Fact("F2", "review score", Value("quantity", 52, "percent"))
RUNTIME = Fact("F2", "runtime", Value("quantity", 82, "minute"))


def database(kb, gold=(), probability=0.0, seed=0):
    return TextualDatabase(kb, Verbalizer(kb, seed), gold, joined_probability=probability, seed=seed)


def test_a_fact_used_with_and_without_its_qualifier_is_one_unit(kb):
    asked = Fact("F2", "review score", SCORE.value, None, TOMATO)
    data = database(kb, [SCORE, asked])
    assert data.gold_unit(SCORE) is data.gold_unit(asked)
    assert "Tomato" in data.gold_unit(SCORE).sentence
    assert len(data.units) == 1


def test_gold_facts_are_never_joined_to_others(kb):
    gold = [fact for n in range(24) for fact in database(kb).facts_of(f"F{n}") if fact.predicate != "cast member"]
    data = database(kb, gold, probability=1.0)
    units = [data.gold_unit(fact) for fact in gold]
    said = {meaning(fact) for fact in gold}
    joined = [fact for unit in units for fact in unit.facts[1:]]
    assert joined
    assert not said & {meaning(fact) for fact in joined}


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_no_statement_is_in_two_units(kb, probability):
    data = database(kb, probability=probability)
    for n in range(24):
        for fact in data.facts_of(f"F{n}"):
            unit = data.unit(fact)
            assert unit is None or unit.facts[0] == fact
    stated = [fact for unit in data.units for fact in unit.facts]
    assert len(stated) == len(set(stated)) == sum(len(data.facts_of(f"F{n}")) for n in range(24))
    sizes = {len(unit.facts) for unit in data.units}
    assert sizes == {0.0: {1}}.get(probability, sizes)
    if probability:
        assert sizes == {1, 2, 3}
    for unit in data.units:
        assert missing_parts(kb, unit.sentence, unit.facts) == []


def test_joined_facts_share_neither_predicate_nor_value(kb):
    data = database(kb, probability=1.0)
    for n in range(24):
        for fact in data.facts_of(f"F{n}"):
            data.unit(fact)
    for unit in data.units:
        assert len({fact.predicate for fact in unit.facts}) == len(unit.facts)
        assert len({fact.head for fact in unit.facts}) == 1


def test_how_often_facts_are_joined(kb):
    data = database(kb, probability=0.3)
    firsts = [data.unit(data.facts_of(f"F{n}")[0]) for n in range(24)]
    assert 2 <= sum(len(unit.facts) > 1 for unit in firsts) <= 14


def test_ids_are_stable(kb):
    first, second = database(kb, probability=0.5, seed=3), database(kb, probability=0.5, seed=3)
    for data in (first, second):
        for fact in data.facts_of("F5"):
            data.unit(fact)
    assert [(u.id, u.sentence) for u in first.units] == [(u.id, u.sentence) for u in second.units]
    assert first.units[0].id == "F000000"


def test_both_ends_of_a_border_say_the_same():
    assert meaning(Fact("C0", "shares border with", tail="C1")) == meaning(Fact("C1", "shares border with", tail="C0"))
    assert meaning(SCORE) != meaning(RUNTIME)


def test_to_json(kb):
    data = database(kb)
    record = data.gold_unit(Fact("E0", "discoverer", tail="P1")).to_json(kb)
    assert record["id"] == "F000000"
    assert record["gold"]
    assert record["facts"] == [
        {
            "head": "E0",
            "name": "gold",
            "predicate": "discoverer",
            "tail": "P1",
            "tail_name": "Bo Lind",
            "qualifiers": [["point in time", {"type": "year", "value": 1898}]],
        }
    ]
