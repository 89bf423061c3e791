"""Questions that lose a needed fact in training."""

import random
from dataclasses import replace

import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions.unanswerable import can_withhold, withheld


def step(function, *inputs):
    return {"function": function, "dependencies": [], "inputs": list(inputs)}


PROGRAM = (step("Find", "Paris"), step("Relate", "capital", "backward"), step("What"))
GRAPH = EvidenceGraph([(ROOT, 0), (0, 2)])
EXAMPLE = Example("e", "Which country has Paris as capital?", ("a", "b", "c"), GRAPH, "France", PROGRAM, "query")


def test_one_gold_fact_is_gone_and_there_is_no_graph():
    seen = set()
    for seed in range(20):
        found = withheld(EXAMPLE, random.Random(seed))
        seen.add(found.facts)
        assert not found.answerable
        assert found.missing == "one"
    assert seen == {("b", "c"), ("a", "b")}  # a distractor stays
    assert withheld(EXAMPLE, random.Random(3)) == withheld(EXAMPLE, random.Random(3))


def test_the_only_fact_is_all_of_them():
    one = replace(EXAMPLE, graph=EvidenceGraph([(ROOT, 1)]))
    assert withheld(one, random.Random(0)).missing == "all"


@pytest.mark.parametrize("function", ["Or", "Count", "SelectAmong"])
def test_questions_that_a_part_of_the_evidence_answers_otherwise_keep_it(function):
    assert can_withhold(EXAMPLE)
    assert not can_withhold(replace(EXAMPLE, program=(*PROGRAM, step(function))))


def test_only_known_programs_with_an_answer():
    assert not can_withhold(replace(EXAMPLE, program=()))
    assert not can_withhold(replace(EXAMPLE, graph=EvidenceGraph()))
