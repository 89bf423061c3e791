"""Paths of facts: the ones a search is at, and the ones it has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.models.decode import acyclic

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
    """The graph of chains hung from the question, each edge with its best chain's score; and the edges left out to keep
    it acyclic."""
    scores: dict[Edge, float] = {}
    for path in paths:
        for edge in zip((ROOT, *path.facts), path.facts, strict=False):
            scores[edge] = max(path.score, scores.get(edge, path.score))
    kept, dropped = acyclic(scores)
    return EvidenceGraph.reachable(kept, scores), dropped
