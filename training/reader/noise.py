"""What a reader meets in use and not in a dataset: graphs with a fact too few or too many, or about something else."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bgr.data.kb.schema import Fact
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def without(graph: EvidenceGraph, fact: int) -> EvidenceGraph:
    """The graph without a fact; what followed it follows what was before it."""
    before, after = graph.predecessors(fact), graph.successors(fact)
    kept = [(a, b) for a, b in graph.edges if fact not in (a, b)]
    return EvidenceGraph([*kept, *((a, b) for a in before for b in after)])


def with_more(graph: EvidenceGraph, others: Sequence[int], most: int, draw: random.Random) -> EvidenceGraph:
    """The graph with one to `most` of the other facts, each after the question or a fact of the graph."""
    added = draw.sample(others, min(len(others), draw.randint(1, most)))
    return EvidenceGraph([*graph.edges, *((draw.choice([ROOT, *graph.nodes]), node) for node in added)])


def another(fact: int, graph: EvidenceGraph, statements: Sequence[Sequence[Fact]], draw: random.Random) -> int | None:
    """One of the other candidates that states the same relation or attribute as a fact, of nothing that this is about:
    the running time of another film. ``None`` if there is none."""
    keys = {one.predicate for one in statements[fact]}
    ends = {end for one in statements[fact] for end in (one.head, one.tail)}
    found = [
        number
        for number, told in enumerate(statements)
        if number not in graph.nodes
        and any(one.predicate in keys for one in told)
        and not any(end in ends for one in told for end in (one.head, one.tail) if end is not None)
    ]
    return draw.choice(found) if found else None


def beside(fact: int, graph: EvidenceGraph, statements: Sequence[Sequence[Fact]], draw: random.Random) -> int | None:
    """One of the other candidates that states something else about the same thing, between other ends: the running time
    of a film in place of its director. ``None`` if there is none."""
    heads = {one.head for one in statements[fact]}
    keys = {one.predicate for one in statements[fact]}
    tails = {one.tail for one in statements[fact]} - {None}
    found = [
        number
        for number, told in enumerate(statements)
        if number not in graph.nodes
        and any(one.head in heads for one in told)
        and not any(one.predicate in keys or one.tail in tails for one in told)
    ]
    return draw.choice(found) if found else None
