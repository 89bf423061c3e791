"""Questions that lose a fact of their evidence, so that the other candidates do not answer them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random

from bgr.data.example import Example
from bgr.data.own.links import holds
from bgr.graph.evidence_graph import EvidenceGraph


def withheld(examples: Sequence[Example], share: float, seed: int, ids: Collection[str]) -> list[Example]:
    """Copies of a `share` of the examples with evidence, each without one random fact of it, and without an answer.

    If another candidate has the answer, it may replace what is withheld; such examples are not copied. So the result
    may be shorter than the share, which is rounded up.

    Args:
        ids: ids that are taken.
    """
    draw = Random(f"{seed}|withheld")
    able = [one for one in examples if one.graph.nodes and len(one.facts) > 1 and not _elsewhere(one)]
    wanted = -int(-share * sum(one.answerable for one in examples) // 1)
    return [_without_a_fact(one, draw, ids) for one in draw.sample(able, min(wanted, len(able)))]


def _elsewhere(one: Example) -> bool:
    """Whether a candidate that is not evidence has the answer."""
    evidence = set(one.graph.nodes)
    return any(holds(text, one.answer) for number, text in enumerate(one.facts) if number not in evidence)


def _without_a_fact(one: Example, draw: Random, ids: Collection[str]) -> Example:
    nodes = one.graph.nodes
    gone = draw.choice(nodes)
    id = f"{one.id}-withheld"
    while id in ids:
        id += "+"
    facts = tuple(text for number, text in enumerate(one.facts) if number != gone)
    missing = "one" if len(nodes) > 1 else "all"
    return replace(one, id=id, facts=facts, graph=EvidenceGraph(), answer="", missing=missing)
