"""The one interface of all retrievers: queries in, ranked texts and evidence graphs out."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, TypeVar

from bgr.collection.corpus import Passage
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.graph.notebook import graph_html, list_html
from bgr.llm.usage import Usage

SHOWN = 10
"""Maximum number of texts of a ranked list that a notebook shows."""

KEPT = "kept"
"""Entry of `RetrievalResult.details`: the indices of the texts that were left after a first stage."""


@dataclass(frozen=True)
class Query:
    """A question and the texts to search.

    Args:
        candidates: the query's own texts; ``None`` searches the retriever's collection.
        gold_count: the number of gold texts, for baselines that are given it (the paper's top-k protocol).
        read_first: how many of the first candidates a retriever should read if it reads only some; 0 to leave it the
            choice. Above 0, they are in the order of a search that saw more than their texts.
    """

    question: str
    candidates: Sequence[str] | None = None
    gold_count: int | None = None
    read_first: int = 0

    @property
    def facts(self) -> Sequence[str]:
        """The candidates; BgrError without any: `bgr.retrievers.search.TwoStage` finds them in a collection."""
        if self.candidates is None:
            raise BgrError(f"question {self.question!r}: this retriever needs candidates; give them, or use TwoStage")
        return self.candidates


@dataclass(frozen=True)
class RetrievalResult:
    """The evidence for one query.

    All indices (ranking, graph, sentences, trace) refer to the texts that were searched: the query's candidates if it
    has any, else the retriever's collection.

    Args:
        graph: the evidence graph. A retriever that only ranks texts returns a star: the root leads to every text.
        limits: the name of every limit that was reached.
        details: plain values for reports; `KEPT` only if there is a first stage.
        ranking: ``(index, score)``, best first, each index once; ``None`` ranks the graph's nodes (`ranked_nodes`).
        searched: the texts that were searched.
        usage: calls of the language model.
        seconds: this query's share of the time that its batch took.
        trace: one record for each step, plain JSON values.
        answer: the answer, if the retriever gives one.
        sentences: pairs of an index and a sentence number, if the retriever chooses sentences within texts.
        is_list: true if the graph says nothing beyond the ranking.
        truncated: the texts of which a model read only the first tokens, −1 for the question; ``None`` if the retriever
            has no limit of tokens.
        completeness: calibrated probability that the candidates hold complete evidence; ``None`` if the retriever does
            not estimate it. A retriever that refuses to answer returns the empty graph.
    """

    graph: EvidenceGraph
    limits: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    ranking: tuple[tuple[int, float], ...] | None = None
    searched: Sequence[str | Passage] = field(default=(), repr=False, compare=False)
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    trace: tuple[dict[str, Any], ...] = ()
    answer: str | None = None
    sentences: tuple[tuple[int, int], ...] = ()
    is_list: bool = False
    truncated: tuple[int, ...] | None = None
    completeness: float | None = None

    @cached_property
    def _ranked(self) -> tuple[tuple[int, float], ...]:
        return tuple(ranked_nodes(self.graph)) if self.ranking is None else self.ranking

    @property
    def indices(self) -> tuple[int, ...]:
        """The ranked list, best first."""
        return tuple(index for index, _ in self._ranked)

    @property
    def scores(self) -> tuple[float, ...]:
        """One score for each of `indices`."""
        return tuple(score for _, score in self._ranked)

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each of `indices`."""
        return tuple(self._text(index) for index in self.indices)

    def _text(self, index: int) -> str:
        text = self.searched[index]
        return text if isinstance(text, str) else text.whole

    def _repr_html_(self) -> str:
        """The graph with its texts, or the first of a ranked list, as a notebook shows them."""
        known = len(self.searched) > 0
        title = f"Answer: {self.answer}" if self.answer is not None else ""
        if self.is_list and known:
            left = len(self.indices) - SHOWN
            notes = [f"and {left:,} more"] if left > 0 else []
            return list_html(self.texts[:SHOWN], self.scores[:SHOWN], title=title, notes=notes)
        texts = {node: self._text(node) if known else "" for node in self.graph.nodes}
        return graph_html(self.graph, texts, "question", title=title)


class Retriever(ABC):
    """Base class. A subclass overrides `retrieve`, which owns the batching."""

    @property
    def concurrency(self) -> int:
        """Number of queries that are worked on side by side, each on its own; 1 if a batch is faster."""
        return 1

    @abstractmethod
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order."""


R = TypeVar("R", bound=Retriever)
Retrieve = Callable[[R, Sequence[Query]], list[RetrievalResult]]


def timed(retrieve: Retrieve[R]) -> Retrieve[R]:
    """Decorate `Retriever.retrieve`: `seconds` of each result becomes an equal share of the time."""

    @wraps(retrieve)
    def wrapper(self: R, queries: Sequence[Query]) -> list[RetrievalResult]:
        started = time.perf_counter()
        results = retrieve(self, queries)
        share = (time.perf_counter() - started) / max(1, len(queries))
        return [replace(result, seconds=share) for result in results]

    return wrapper


def truncated_texts(query: Query, questions: AbstractSet[str], facts: AbstractSet[str]) -> tuple[int, ...]:
    """`RetrievalResult.truncated` of a query, from the questions and facts that were truncated."""
    asked = (ROOT,) if query.question in questions else ()
    return (*asked, *(index for index, fact in enumerate(query.facts) if fact in facts)) if facts else asked


def ranked_nodes(graph: EvidenceGraph) -> list[tuple[int, float]]:
    """The nodes of a graph, each with the best score of an edge that leads to it (0 where no edge has a score), best
    first; equal scores in the order of reasoning."""
    best = {node: max(graph.scores.get((a, node), 0.0) for a in graph.predecessors(node)) for node in graph.order()}
    return sorted(best.items(), key=lambda pair: -pair[1])


def star(indices: Sequence[int]) -> EvidenceGraph:
    """The graph in which the root leads to every index."""
    return EvidenceGraph((ROOT, index) for index in indices)
