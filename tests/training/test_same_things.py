"""Facts about what the gold facts of a question are about."""

import pytest

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions import plain_questions as module
from training.questions.plain_questions import MOST_BESIDE, same_things

FACTS = {
    "Bergman directed Persona.": Fact("P", "director", tail="B"),
    "Persona is the work of Bergman.": Fact("P", "director", tail="B"),  # as good as the first
    "Bergman wrote Persona.": Fact("P", "screenwriter", tail="B"),
    "Persona is in Swedish.": Fact("P", "original language", tail="S"),
    "Bergman directed Fanny.": Fact("F", "director", tail="B"),
    "Scott directed Alien.": Fact("A", "director", tail="C"),
}
NAMES = {"P": "Persona", "B": "Bergman", "F": "Fanny", "A": "Alien", "C": "Scott", "S": "Swedish"}
GRAPH = EvidenceGraph([(ROOT, 0)])


def table(facts=FACTS):
    names = NAMES | {fact.head: fact.head for fact in facts.values() if fact.head not in NAMES}
    return FactTable((FactUnit(text, (fact,), text, True) for text, fact in facts.items()), names)


def example(*facts, graph=GRAPH, name="e"):
    return Example(name, "Who directed Persona?", facts, graph, "Bergman", (), "query")


def test_neither_candidates_nor_gold_nor_about_something_else():
    asked = example("Bergman directed Persona.", "Persona is in Swedish.")
    found = same_things([asked], table())
    assert found.keys() == {"e"}
    assert sorted(found["e"]) == ["Bergman directed Fanny.", "Bergman wrote Persona."]
    assert same_things([asked], table()) == found


def test_no_more_than_a_few_and_none_of_what_many_are_about(monkeypatch):
    many = {f"Bergman directed film {n}.": Fact(f"F{n}", "director", tail="B") for n in range(MOST_BESIDE + 4)}
    asked = example("Bergman directed Persona.")
    found = same_things([asked], table(FACTS | many))["e"]
    assert len(found) == len(set(found)) == MOST_BESIDE
    monkeypatch.setattr(module, "COMMON", 5)
    assert sorted(same_things([asked], table(FACTS | many))["e"]) == [
        "Bergman wrote Persona.",
        "Persona is in Swedish.",
    ]


def test_a_question_without_an_answer_has_none_and_a_strange_fact_is_told():
    assert same_things([example("Scott directed Alien.", graph=EvidenceGraph(()))], table()) == {}
    with pytest.raises(DataError, match="not in the textual database"):
        same_things([example("Persona won.")], table())
    with pytest.raises(DataError, match="have no statements"):
        same_things([], FactTable([FactUnit("1", (), "Persona won.", True)], {}))
