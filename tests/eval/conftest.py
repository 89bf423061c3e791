"""Examples of every type and structure, small enough to read."""

import random

import pytest

from bgr.data.example import QUESTION_TYPES, Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import RetrievalResult

SHAPES = (
    [(ROOT, 0)],
    [(ROOT, 0), (0, 1)],
    [(ROOT, 0), (ROOT, 1)],
    [(ROOT, 0), (0, 1), (ROOT, 2), (2, 3)],
    [(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)],
)
WORDS = "Persona Sweden France Italy Rome Paris film country capital people directed Bergman".split()


@pytest.fixture
def examples() -> list[Example]:
    rng = random.Random(0)
    made = []
    for number in range(30):
        shape = EvidenceGraph(SHAPES[number % len(SHAPES)])
        facts = [f"Fact {n} : {' '.join(rng.choices(WORDS, k=4))} ." for n in range(6)]
        places = dict(zip(range(4), rng.sample(range(6), 4), strict=True))
        question = f"Question {number} about {rng.choice(WORDS)} ?"
        kind = QUESTION_TYPES[number // 2 % len(QUESTION_TYPES)]
        made.append(Example(f"q{number}", question, tuple(facts), shape.relabel(places), "yes", (), kind))
    return made


@pytest.fixture
def imperfect(examples) -> list[RetrievalResult]:
    """Gold for every other question; for the rest one chain over all gold facts, scored, a limit met."""
    results = []
    for number, example in enumerate(examples):
        nodes = example.graph.nodes
        chain = list(zip([ROOT, *nodes], nodes, strict=False))
        wrong = RetrievalResult(EvidenceGraph(chain, dict.fromkeys(chain, 0.5)), ("max_paths",))
        results.append(wrong if number % 2 else RetrievalResult(example.graph))
    return results
