"""Questions from which a needed fact is withheld in training, so that a model learns to see that one is missing."""

from __future__ import annotations

import random
from dataclasses import replace

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph

PARTIAL = frozenset({"Or", "Count", "SelectAmong"})
"""Functions of KoPL that give an answer from a part of their evidence, though another one."""


def can_withhold(example: Example) -> bool:
    """Whether every gold fact is needed for any answer: the program is known and has no function of `PARTIAL`."""
    functions = {step["function"] for step in example.program}
    return example.answerable and bool(functions) and not functions & PARTIAL


def withheld(example: Example, draw: random.Random) -> Example:
    """The same question without one of its gold facts: nothing among its candidates answers it."""
    gold = example.graph.nodes
    fact = draw.choice(gold)
    facts = example.facts[:fact] + example.facts[fact + 1 :]
    return replace(example, facts=facts, graph=EvidenceGraph(()), missing="one" if len(gold) > 1 else "all")
