"""Beam search over paths of facts, for all questions of a batch at once.

Paths of facts: the ones a search is at, and the ones it has found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bgr.graph.dag import acyclic
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

END_COLUMN = 0
"""Column of the end of a path among what may come next; candidate fact ``i`` stands in column ``i + 1``."""


@dataclass(frozen=True)
class FoundPath:
    """A chain of facts from the question, as places among its candidates, and its score (higher is better)."""

    facts: tuple[int, ...]
    score: float


@dataclass(frozen=True)
class PathTable:
    """Paths of all questions of a batch.

    Args:
        question: ``[p]`` which question each path belongs to.
        facts: ``[p, h]`` each path's facts as places among its question's candidates, −1 behind its end.
    """

    question: Tensor
    facts: Tensor

    @property
    def lengths(self) -> Tensor:
        """``[p]`` facts on each path."""
        return (self.facts >= 0).sum(1)

    def to(self, device: torch.device) -> PathTable:
        return PathTable(self.question.to(device), self.facts.to(device))

    def open(self, candidates: Tensor) -> Tensor:
        """``[p, 1 + c]`` bool, the columns a path may go to: facts that are not on it, and its end unless it is empty.

        *Shape:* ``candidates [q, c]``, −1 where there is no fact.
        """
        there = candidates[self.question] >= 0
        # behind a path's end stands −1, which is column 0 here and thrown away
        used = torch.zeros(len(there), 1 + there.shape[1], dtype=torch.bool, device=there.device)
        used.scatter_(1, self.facts + 1, True)
        return torch.cat([self.lengths[:, None] > 0, there & ~used[:, 1:]], dim=1)


def graph_of(paths: Sequence[FoundPath]) -> tuple[EvidenceGraph, list[Edge]]:
    """The graph of chains that start at the question, each edge with its best chain's score; and the edges left out to
    keep it acyclic."""
    scores: dict[Edge, float] = {}
    for path in paths:
        for edge in zip((ROOT, *path.facts), path.facts, strict=False):
            scores[edge] = max(path.score, scores.get(edge, path.score))
    kept, dropped = acyclic(scores)
    return EvidenceGraph.reachable(kept, scores), dropped


MARGIN = 5.0
"""A path whose log-probability is so far below the best finished one's is not followed: it could only fall."""


@dataclass(frozen=True)
class Search:
    """Finished paths of one question, best first; the limits that were reached."""

    paths: tuple[FoundPath, ...]
    limits: tuple[str, ...] = ()


def beam_search(
    score: Callable[[PathTable], Tensor], questions: int, *, beam: int, max_depth: int, device: torch.device
) -> list[Search]:
    """Follow the `beam` most probable paths of each question, level by level, until none can rival a finished one.

    Args:
        score: log-probabilities ``[p, 1 + c]`` of what comes next on each path, its end in column 0; −inf where it may
            not go.
        questions: how many.
        beam: paths of a question at one level.
        max_depth: facts on a path; where longer ones would have been followed, the limit ``max_depth`` is noted.
        device: of the tables.

    Returns:
        A question's finished paths with their log-probabilities.
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
    """Places of the `most` best rows of each owner, in increasing order; of equal ones the first. *Shape:* ``[n]``."""
    order = torch.argsort(scores, descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    count = torch.bincount(owner)
    first = count.cumsum(0) - count
    rank = torch.arange(len(order), device=order.device) - first[owner[order]]
    return order[rank < most].sort().values
