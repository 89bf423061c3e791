"""Questions over a whole database: candidates that a search proposes, and scores that are fair to other words.

The database may hold a gold fact in several sentences. A candidate that states what a gold fact states is as good as
this: a prediction of either is right, and of both is one (`bgr.data.reasongraphqa.checks.same_facts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.same_facts import same_facts
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.errors import GraphError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.base import Query, RetrievalResult


@dataclass(frozen=True)
class Pooled:
    """A question with the candidates of a pool.

    Args:
        example: the question over its pool, and after it the gold facts that the pool lacks; with the gold graph.
        pool: number of candidates that a retriever is given, the first ones.
        same: the candidates that state a gold fact, with the node of this fact.
        read_first: see `Query`.
    """

    example: Example
    pool: int
    same: Mapping[int, int]
    read_first: int = 0

    @property
    def found(self) -> float:
        """The share of the gold facts in the pool."""
        return self.found_in(self.pool)

    def found_in(self, count: int) -> float:
        """The share of the gold facts among the first `count` candidates."""
        nodes = set(self.example.graph.nodes)
        return len(nodes & {node for place, node in self.same.items() if place < count}) / len(nodes)

    @property
    def query(self) -> Query:
        """What a retriever may see."""
        nodes = len(self.example.graph.nodes)
        return Query(self.example.question, self.example.facts[: self.pool], max(1, nodes), self.read_first)

    def judged(self, result: RetrievalResult) -> RetrievalResult:
        """The result with each candidate that states a gold fact named as this, so that it can be scored."""
        return replace(result, graph=_merged(result.graph, self.same))


def pooled(example: Example, pool: Sequence[str], table: FactTable, *, read_first: int = 0) -> Pooled:
    """A question over the texts of a pool, which are sentences of the table.

    Raises:
        DataError: a gold fact is not in the table.
    """
    gold = {example.facts[node] for node in example.graph.nodes}
    states = same_facts(example, pool, table)
    # the gold graph names the first candidate that states a fact, best the gold sentence itself, or one after the pool
    places: dict[int, int] = {}
    for place in sorted(states, key=lambda place: (pool[place] not in gold, place)):
        places.setdefault(states[place], place)
    facts = list(pool)
    for node in example.graph.nodes:
        if node not in places:
            places[node] = len(facts)
            facts.append(example.facts[node])
    graph = example.graph.relabel(places)
    same = {place: places[node] for place, node in states.items()}
    return Pooled(replace(example, facts=tuple(facts), graph=graph), len(pool), same, read_first)


def _merged(graph: EvidenceGraph, same: Mapping[int, int]) -> EvidenceGraph:
    """The graph with candidates of the same content as one node; as it is where that is none, since one of them leads
    to the other by a third."""
    edges = {(same.get(a, a), same.get(b, b)) for a, b in graph.edges}
    try:
        return EvidenceGraph((a, b) for a, b in edges if a != b)
    except GraphError:
        return graph
