"""Inserted entailments are found, and the construction makes none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bgr.data.example import Example
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.checks.same_facts import same_facts
from bgr.data.reasongraphqa.checks.verify import FactTable, find_entailments
from bgr.data.reasongraphqa.construction.conflicts import RESTATED, SAME_TRIPLE, SAME_VALUE
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.construction.recipe import HARD, THIRDS
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph

NAMES = {"F": "Winter", "G": "Winter", "P": "Ada Berg", "Q": "Bo Lind", "E": "gold", "N": "Nordia", "S": "Sudia"}
FOUND = Value("year", 1898)
DIRECTED = Fact("F", "director", tail="P")
ACTED = Fact("F", "cast member", None, "P", (("object has role", Value("string", "director")),))
LONG = Fact("F", "runtime", Value("quantity", 82, "minute"))
DISCOVERED = Fact("E", "discoverer", None, "Q", (("point in time", FOUND),))
BORDER = Fact("N", "shares border with", tail="S")
ELSEWHERE = Fact("S", "population", Value("quantity", 9))
WHEN = {"function": "QueryRelationQualifier", "dependencies": [0, 1], "inputs": ["discoverer", "point in time"]}


def sample(gold, distractor, program=()):
    """A question with one gold fact (whose sentence has another fact), a fair distractor and the tested one."""
    units = [
        FactUnit("F0", (ELSEWHERE,), "Innocent.", False),
        FactUnit("F1", (gold, Fact(gold.head, "IMDb ID", Value("string", "tt1"))), "Gold.", True),
        FactUnit("F2", (ELSEWHERE, distractor), "Planted.", False),
    ]
    facts = tuple(unit.sentence for unit in units)
    example = Example("train-7", "?", facts, EvidenceGraph([(-1, 1)]), "yes", tuple(program), "query")
    return example, FactTable(units, NAMES)


PLANTED = [
    (DIRECTED, DIRECTED, (), SAME_TRIPLE),
    (DIRECTED, Fact("F", "director", None, "P", (("stated in", Value("string", "a book")),)), (), SAME_TRIPLE),
    (DIRECTED, Fact("G", "director", tail="P"), (), SAME_TRIPLE),
    (BORDER, Fact("S", "shares border with", tail="N"), (), SAME_TRIPLE),
    (LONG, Fact("F", "runtime", Value("quantity", 4920, "second")), (), SAME_VALUE),
    (LONG, Fact("F", "IMDb ID", Value("string", "tt1")), (), SAME_VALUE),
    (DIRECTED, ACTED, (), SAME_TRIPLE),
    (LONG, Fact("F", "box office", None, "Q", (("length", Value("quantity", 82, "minute")),)), (), RESTATED),
    (DISCOVERED, Fact("E", "time of discovery", FOUND), (), RESTATED),
    (DISCOVERED, Fact("E", "country of discovery", None, "N", (("year", FOUND),)), (WHEN,), RESTATED),
]


@pytest.mark.parametrize(("gold", "distractor", "program", "how"), PLANTED)
def test_a_planted_entailment_is_found(gold, distractor, program, how):
    example, table = sample(gold, distractor, program)
    found = find_entailments([example], table)
    assert found.counts == {SAME_TRIPLE: 0, SAME_VALUE: 0, RESTATED: 0} | {how: 1}
    assert (found.total, found.distractors, found.unknown) == (1, 2, 0)
    [shown] = found.examples
    assert (shown.sample, shown.distractor, shown.gold, shown.how) == ("train-7", "Planted.", "Gold.", how)
    assert str(shown) == f"sample 'train-7': 'Planted.' beside the gold fact 'Gold.' ({how})"


@pytest.mark.parametrize(("gold", "distractor", "program", "how"), PLANTED)
def test_a_sentence_that_states_a_gold_fact_counts_as_this(gold, distractor, program, how):
    """In other words, of an entity with the same name, or as a role; a restated value alone does not count."""
    example, table = sample(gold, distractor, program)
    found = same_facts(example, ["Innocent.", "Planted.", "Gold."], table)
    assert found == ({2: 1} if how == RESTATED else {1: 1, 2: 1})


@pytest.mark.parametrize(
    ("gold", "distractor", "program"),
    [
        (DIRECTED, Fact("F", "director", tail="Q"), ()),
        (DIRECTED, Fact("F", "screenwriter", tail="P"), ()),
        (LONG, Fact("F", "runtime", Value("quantity", 82, "second")), ()),
        (BORDER, Fact("S", "capital", tail="N"), ()),
        # the year of a discovery reveals nothing if the question does not ask for it
        (DISCOVERED, Fact("E", "country of discovery", None, "N", (("year", FOUND),)), ()),
        (DISCOVERED, Fact("E", "country of discovery", None, "N", (("year", FOUND),)), (WHEN, {"function": "Count"})),
        # facts joined to a gold fact are not gold: an entity with the same name may have them too
        (DIRECTED, Fact("G", "IMDb ID", Value("string", "tt1")), ()),
    ],
)
def test_not_an_entailment(gold, distractor, program):
    assert find_entailments(*table_of([sample(gold, distractor, program)])).total == 0


def table_of(samples):
    return [example for example, _ in samples], samples[0][1]


def test_all_are_counted_and_three_are_shown():
    example, table = sample(DIRECTED, DIRECTED)
    found = find_entailments([example] * 5, table)
    assert (found.total, len(found.examples)) == (5, 3)
    assert found.to_json()["entailing"] == {"total": 5, SAME_TRIPLE: 5, SAME_VALUE: 0, RESTATED: 0}


def test_sentences_without_triples_cannot_be_judged():
    units = [FactUnit(f"F{n}", (), sentence, False) for n, sentence in enumerate(("Innocent.", "Gold.", "Planted."))]
    found = find_entailments([sample(DIRECTED, DIRECTED)[0]], FactTable(units, {}))
    assert (found.total, found.distractors, found.unknown) == (0, 2, 2)


def test_an_unknown_candidate_names_the_sample():
    example, _ = sample(DIRECTED, DIRECTED)
    with pytest.raises(DataError, match=r"sample 'train-7': candidate 1 is not in the textual database: 'Gold.'"):
        find_entailments([example], FactTable([], {}))


@pytest.mark.parametrize("mixture", [THIRDS, HARD], ids=["thirds", "hard"])
def test_the_construction_makes_none(kb, good_questions, encoder, mixture):
    questions = [Question.from_json(q, f"q{n}", "f") for n, q in enumerate(good_questions)]
    built = build(kb, questions, encoder, Settings(mixture=mixture, joined_probability=0.3))
    examples = [example for split in built.splits.values() for example in split]
    table = FactTable(built.database.units, kb.names_by_id)
    found = find_entailments(examples, table)
    assert found.total == 0
    assert found.distractors == sum(len(example.facts) - len(example.graph.nodes) for example in examples)
    # the search works: an added unit with other words for a gold fact is found in every sample
    twins = [FactUnit(unit.id, unit.facts, f"Again: {unit.sentence}", False) for unit in built.database.units]
    again = [
        replace(example, facts=(*example.facts, f"Again: {example.facts[example.graph.nodes[-1]]}"))
        for example in examples
    ]
    found = find_entailments(again, FactTable([*built.database.units, *twins], kb.names_by_id))
    assert found.total == len(examples)
