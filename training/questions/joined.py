"""Two questions as one: a graph of a form that no single question of the training has, made of forms that are known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

MAX_WORDS = 40
"""Maximum words of a joined question, which an encoder of 64 tokens reads whole."""

TRIES = 8
"""Partners that are tried for a question."""

JOINTS = (" {}", " And {}", " Also, {}")


def joined_questions(examples: Sequence[Example], share: float, *, seed: int = 0) -> list[Example]:
    """New examples, at most `share` times as many as there are: each two questions of `examples` with an answer, one
    after the other, whose evidence is the union of both graphs over the candidates of both."""
    draw = random.Random(f"joined {seed}")
    usable = [example for example in examples if example.answerable]
    found: list[Example] = []
    for _ in range(int(share * len(examples))):
        one = draw.choice(usable) if usable else None
        partners = (draw.choice(usable) for _ in range(TRIES))
        other = next((p for p in partners if one is not None and _fit(one, p)), None)
        if one is not None and other is not None:
            found.append(join(one, other, draw.choice(JOINTS)))
    return found


def join(one: Example, other: Example, joint: str = JOINTS[0]) -> Example:
    """Both questions as one. A fact that both have is one fact."""
    facts = list(dict.fromkeys([*one.facts, *other.facts]))
    place = {fact: number for number, fact in enumerate(facts)}
    edges = [
        (ROOT if a == ROOT else place[example.facts[a]], place[example.facts[b]])
        for example in (one, other)
        for a, b in example.graph.edges
    ]
    return replace(
        one,
        id=f"{one.id}+{other.id}",
        question=one.question + joint.format(other.question),
        facts=tuple(facts),
        graph=EvidenceGraph(edges),
        answer=f"{one.answer}; {other.answer}",
        program=(),
    )


def _fit(one: Example, other: Example) -> bool:
    """Whether both can be joined: they are short, and neither has evidence that the other is about."""
    words = len(one.question.split()) + len(other.question.split())
    return one.id != other.id and words <= MAX_WORDS and not _shared(one, other) and not _shared(other, one)


def _shared(one: Example, other: Example) -> bool:
    gold = {one.facts[node] for node in one.graph.nodes}
    return not gold.isdisjoint(other.facts)
