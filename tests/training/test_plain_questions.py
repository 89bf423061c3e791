"""Further training questions about one statement each."""

import random

import pytest
import yaml

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.example import Example
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions import plain_questions as module
from training.questions.plain_questions import plain_patterns, plain_questions

FACTS = {
    "Bergman directed Persona.": Fact("P", "director", tail="B"),
    "Bergman wrote Persona.": Fact("P", "screenwriter", tail="B"),
    "Nykvist wrote Persona too.": Fact("P", "screenwriter", tail="N"),
    "Persona runs 83 minutes.": Fact("P", "runtime", value=Value("quantity", 83, "minute")),
    "Bergman directed Fanny.": Fact("F", "director", tail="B"),
    "The code of Arlanda is ARN.": Fact("L", "IATA code", value=Value("string", "ARN")),
    "One Alien runs 117 minutes.": Fact("A", "runtime", value=Value("quantity", 117, "minute")),
}
NAMES = {"P": "Persona", "B": "Bergman", "F": "Fanny", "A": "Alien", "A2": "alien", "L": "Arlanda", "N": "Nykvist"}
PATTERNS = {
    ("director", "forward"): ["director of {}"],
    ("director", "backward"): ["film by {}"],
    ("screenwriter", "forward"): ["writer of {}"],
    ("runtime", "forward"): ["length of {}"],
    ("IATA code", "forward"): ["code of {}"],
    ("IATA code", "backward"): ["whose code is {}"],
}


def table(facts=FACTS):
    return FactTable((FactUnit(text, (fact,), text, True) for text, fact in facts.items()), NAMES)


def example(*facts, graph):
    return Example("e", "Who?", facts, graph, "Bergman", (), "query")


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(module, "plain_patterns", lambda: PATTERNS)
    asked = example(*FACTS, graph=EvidenceGraph([(ROOT, 0)]))
    return {one.question: one for one in plain_questions([asked] * 60, table(), 1.0)}


def test_only_what_has_one_answer_and_a_name_of_its_own_is_asked(found):
    assert found.keys() == {
        "director of Persona",
        "director of Fanny",
        "length of Persona",
        "code of Arlanda",
        "whose code is ARN",
    }


def test_the_evidence_is_the_statement_and_the_answer_its_other_end(found):
    told = {one.question: (one.facts[one.graph.nodes[0]], one.answer) for one in found.values()}
    assert told["length of Persona"] == ("Persona runs 83 minutes.", "83 minute")
    assert told["whose code is ARN"] == ("The code of Arlanda is ARN.", "Arlanda")
    assert told["director of Persona"] == ("Bergman directed Persona.", "Bergman")
    assert all(one.graph.edges == {(ROOT, one.graph.nodes[0])} for one in found.values())
    assert [step["function"] for step in found["whose code is ARN"].program] == ["FindAll", "FilterStr", "What"]
    assert [step["function"] for step in found["director of Fanny"].program] == ["Find", "Relate", "What"]
    assert found["length of Persona"].program[-1] == {
        "function": "QueryAttr",
        "dependencies": [0],
        "inputs": ["runtime"],
    }


def test_facts_about_the_same_thing_come_beside_it_but_none_that_is_as_good(monkeypatch):
    monkeypatch.setattr(module, "plain_patterns", lambda: {("director", "forward"): ["director of {}"]})
    again = FACTS | {"Persona is a work by Bergman.": Fact("P", "director", tail="B")}
    asked = example("Bergman directed Persona.", "Persona is a work by Bergman.", graph=EvidenceGraph([(ROOT, 0)]))
    for one in plain_questions([asked] * 20, table(again), 1.0):
        assert set(one.facts) == {
            one.facts[one.graph.nodes[0]],
            "Bergman wrote Persona.",
            "Nykvist wrote Persona too.",
            "Persona runs 83 minutes.",
            "Bergman directed Fanny.",
        }


def test_the_same_seed_gives_the_same_and_the_share_bounds_their_number():
    asked = [example(*FACTS, graph=EvidenceGraph([(ROOT, 0)]))] * 40
    one, same, other = (plain_questions(asked, table(), 0.5, seed=seed) for seed in (1, 1, 2))
    assert one == same != other
    assert 10 < len(one) <= 20
    assert len({each.id for each in one}) == len({each.question for each in one}) == len(one)
    places = {each.graph.nodes[0] for each in one}
    assert len(places) > 2  # the gold fact stands anywhere
    assert plain_questions(asked, table(), 0.0) == []


def test_nothing_is_asked_of_unanswerable_questions_and_strange_facts_are_told():
    lost = example(*FACTS, graph=EvidenceGraph(()))
    assert plain_questions([lost] * 10, table(), 1.0) == []
    asked = example("Bergman directed Persona.", "Persona won.", graph=EvidenceGraph([(ROOT, 0)]))
    assert all("Persona won." not in one.facts for one in plain_questions([asked] * 10, table(), 1.0))
    with pytest.raises(DataError, match="have no statements"):
        plain_questions([asked], FactTable([FactUnit("1", (), "Persona won.", True)], {}), 1.0)


def test_patterns_are_of_atlas_each_with_one_place_and_none_twice():
    book = phrasebook()
    patterns = plain_patterns()
    assert {predicate for predicate, _ in patterns} <= {*book.relations, *book.attributes}
    assert {way for _, way in patterns} == {"forward", "backward"}
    assert all(text.count("{}") == 1 for texts in patterns.values() for text in texts)
    shipped = [
        texts
        for ways in yaml.safe_load(module.PATTERNS.read_text(encoding="utf-8")).values()
        for texts in ways.values()
    ]
    assert min(map(len, shipped)) >= 20
    every = [text for texts in shipped for text in texts]
    assert len(every) == len(set(every)) > 3_000
    assert len({text for texts in patterns.values() for text in texts}) > 4_000  # with the words of Atlas


def test_questions_are_worded_in_many_ways():
    asked = [example(*FACTS, graph=EvidenceGraph([(ROOT, 0)]))] * 200
    draw = random.Random(0)
    questions = [one.question for one in plain_questions(asked, table(), 1.0)]
    assert len({question.split()[0] for question in draw.sample(questions, 40)}) > 8
