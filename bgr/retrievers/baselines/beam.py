"""Beam search over paths of facts, for all questions of a batch at once, and the selection of the paths found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from bgr.errors import BgrError
from bgr.graph.dag import acyclic
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.base import Query

END_COLUMN = 0
"""Column of the end of a path in the scores of the next step; candidate fact ``i`` has column ``i + 1``."""


@dataclass(frozen=True)
class FoundPath:
    """A chain of facts from the question, as indices of its candidates, and its score (higher is better)."""

    facts: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class PathTable:
    """Paths of all questions of a batch.

    Args:
        question: ``[p]`` the question of each path.
        facts: ``[p, h]`` the facts of each path as indices of its question's candidates, −1 after its end.
    """

    question: Tensor
    facts: Tensor

    @property
    def lengths(self) -> Tensor:
        """``[p]`` number of facts of each path."""
        return (self.facts >= 0).sum(1)

    def to(self, device: torch.device) -> PathTable:
        return PathTable(self.question.to(device), self.facts.to(device))

    def open(self, candidates: Tensor) -> Tensor:
        """``[p, 1 + c]`` bool, the allowed columns: facts that are not on the path, and its end unless it is empty.

        *Shape:* ``candidates [q, c]``, −1 where there is no fact.
        """
        there = candidates[self.question] >= 0
        # the −1 after a path's end sets column 0, which is dropped below
        used = torch.zeros(len(there), 1 + there.shape[1], dtype=torch.bool, device=there.device)
        used.scatter_(1, self.facts + 1, True)
        return torch.cat([self.lengths[:, None] > 0, there & ~used[:, 1:]], dim=1)


def graph_of(paths: Sequence[FoundPath]) -> tuple[EvidenceGraph, list[Edge]]:
    """The graph of the paths, each edge with its best path's score; and the edges left out to keep it acyclic."""
    scores: dict[Edge, float] = {}
    for path in paths:
        for edge in zip((ROOT, *path.facts), path.facts, strict=False):
            scores[edge] = max(path.score, scores.get(edge, path.score))
    kept, dropped = acyclic(scores)
    return EvidenceGraph.reachable(kept, scores), dropped


@dataclass(frozen=True)
class TopFacts:
    """Keep the k best of a single-hop retriever, whose paths are single facts.

    Args:
        k: ``None`` for `Query.gold_count`, the paper's protocol (section 5.1).

    Raises:
        BgrError: k is negative, or it is ``None`` and a query has no number of gold facts.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and (type(self.k) is not int or self.k < 0):
            raise BgrError(f"k is {self.k!r}; it must be 0 or more")

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        return list(paths[: self.count(query)])

    def count(self, query: Query) -> int:
        """The number of facts for a query."""
        k = query.gold_count if self.k is None else self.k
        if k is None:
            raise BgrError(f"question {query.question!r}: no number of gold facts is given; choose a fixed k")
        return k


@dataclass(frozen=True)
class NearBest:
    """Keep paths whose log-probability is at most `margin` below the best one's; their scores become probabilities.

    With 0 only the best path is kept, as in the papers; a larger margin also keeps parallel chains.

    Raises:
        BgrError: the margin is negative or not a finite number.
    """

    margin: float

    def __post_init__(self) -> None:
        if type(self.margin) not in (int, float) or not 0 <= self.margin < math.inf:
            raise BgrError(f"margin is {self.margin!r}; it must be a number of 0 or more")

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        bound = max((path.score for path in paths), default=0.0) - self.margin
        return [replace(path, score=math.exp(path.score)) for path in paths if path.score >= bound]


@dataclass(frozen=True)
class AllPaths:
    """Keep every path, with its probability as score, for a baseline that stops by itself."""

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        return [replace(path, score=math.exp(path.score)) for path in paths]


Keep = TopFacts | NearBest | AllPaths
"""The rule, chosen on dev, for the paths of a baseline that form its graph."""


MARGIN = 5.0
"""A path whose log-probability is this far below the best finished one's is not followed, since it can only fall."""


@dataclass(frozen=True)
class Search:
    """Finished paths of one question, best first, the limits that were reached, and the texts that were truncated
    (`RetrievalResult.truncated`)."""

    paths: tuple[FoundPath, ...]
    limits: tuple[str, ...] = ()
    truncated: tuple[int, ...] = ()


def beam_search(
    score: Callable[[PathTable], Tensor], questions: int, *, beam: int, max_depth: int, device: torch.device
) -> list[Search]:
    """Follow the `beam` most probable paths of each question, level by level, until none can rival a finished one.

    Args:
        score: log-probabilities ``[p, 1 + c]`` of the next step of each path, its end in column 0; −inf if not allowed.
        max_depth: maximum facts of a path; if longer ones would be followed, the limit ``max_depth`` is recorded.

    Returns:
        For each question the finished paths with their log-probabilities.
    """
    found: list[list[FoundPath]] = [[] for _ in range(questions)]
    limited: set[int] = set()
    question = torch.arange(questions, device=device)
    facts = torch.zeros(questions, 0, dtype=torch.long, device=device)
    reached = torch.zeros(questions, device=device)
    best = torch.full((questions,), -torch.inf, device=device)
    for depth in range(max_depth + 1):
        totals = reached[:, None] + score(PathTable(question, facts)).float()
        ends = totals[:, END_COLUMN]
        _note(found, question, facts, ends)
        best = best.scatter_reduce(0, question, ends, "amax")
        following = totals[:, END_COLUMN + 1 :]
        path, column = ((following > -torch.inf) & (following >= best[question, None] - MARGIN)).nonzero(as_tuple=True)
        if not len(path):
            break
        if depth == max_depth:
            limited.update(question[path].tolist())
            break
        kept = best_of_each(question[path], following[path, column], beam)
        path, column = path[kept], column[kept]
        question, reached = question[path], following[path, column]
        facts = torch.cat([facts[path], column[:, None]], dim=1)
    return [
        Search(tuple(sorted(paths, key=lambda p: (-p.score, p.facts))), ("max_depth",) if number in limited else ())
        for number, paths in enumerate(found)
    ]


def _note(found: list[list[FoundPath]], question: Tensor, facts: Tensor, ends: Tensor) -> None:
    finished = ends > -torch.inf
    rows = zip(question[finished].tolist(), facts[finished].tolist(), ends[finished].tolist(), strict=True)
    for owner, path, score in rows:
        found[owner].append(FoundPath(tuple(path), score))


def best_of_each(owner: Tensor, scores: Tensor, most: int) -> Tensor:
    """Indices of the `most` best rows of each owner, in increasing order; of equal ones the first. *Shape:* ``[n]``."""
    order = torch.argsort(scores, descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    count = torch.bincount(owner)
    first = count.cumsum(0) - count
    rank = torch.arange(len(order), device=order.device) - first[owner[order]]
    return order[rank < most].sort().values
