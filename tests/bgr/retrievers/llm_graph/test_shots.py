"""Examples in a prompt: which ones, with which facts, and how many."""

import random

from bgr.data.example import STRUCTURES
from bgr.retrievers.llm_graph.forms import FORMS
from bgr.retrievers.llm_graph.prompts import LlmGraphSettings
from bgr.retrievers.llm_graph.shots import choose_shots, shot_texts

FOUR = LlmGraphSettings(shots=4, shot_facts=2, seed=5)


def test_all_structures_come_first(train):
    shots = choose_shots(train(), FOUR)
    assert sorted(shot.graph.structure for shot in shots) == sorted(STRUCTURES)
    eight = choose_shots(train(), LlmGraphSettings(shots=8, shot_facts=2, seed=5))
    assert eight[:4] == shots
    assert len(set(eight)) == 8


def test_the_choice_hangs_on_the_seed_and_not_on_the_order(train):
    mixed = train()
    random.Random(1).shuffle(mixed)
    assert choose_shots(mixed, FOUR) == choose_shots(train(), FOUR)
    assert choose_shots(train(), LlmGraphSettings(seed=6)) != choose_shots(train(), LlmGraphSettings(seed=5))


def test_facts_are_the_gold_ones_and_a_few_others_in_their_order(train):
    by_question = {example.question: example for example in train()}
    for shot in choose_shots(train(), FOUR):
        example = by_question[shot.question]
        place = [example.facts.index(fact) for fact in shot.facts]
        assert place == sorted(place)
        assert len(place) == len(example.graph.nodes) + 2
        assert shot.graph.relabel(dict(enumerate(place))) == example.graph


def test_what_has_no_graph_or_a_large_one_is_no_example(train, sample):
    from dataclasses import replace

    from bgr.graph.evidence_graph import ROOT, EvidenceGraph

    empty = replace(sample, graph=EvidenceGraph())
    large = replace(sample, facts=("x",) * 9, graph=EvidenceGraph([(ROOT, n) for n in range(9)]))
    assert choose_shots([empty, large], FOUR) == []
    assert len(choose_shots([empty, large, sample], FOUR)) == 1


def test_examples_take_no_more_room_than_they_have(train):
    shots = choose_shots(train(), FOUR)
    texts = shot_texts(shots, FORMS["edges"], FOUR, 10_000)
    assert len(texts) == 4
    assert all(shot.question in text for shot, text in zip(shots, texts, strict=True))
    three = sum(len(text) + 2 for text in texts[:3])
    assert shot_texts(shots, FORMS["edges"], FOUR, three) == texts[:3]
    assert shot_texts(shots, FORMS["edges"], FOUR, three - 1) == texts[:2]
    assert shot_texts(shots, FORMS["edges"], FOUR, 0) == []
