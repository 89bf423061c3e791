"""The gold paths of a batch, level by level, and what is next at the end of each (teacher forcing)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bgr.graph import ROOT, EvidenceGraph, next_nodes


@dataclass(frozen=True)
class GoldLevel:
    """All gold paths with the same number of facts.

    Args:
        parents: ``[p]`` the path of the level before that each path continues; at level 0 the question's number.
        columns: ``[p]`` the column each path has just gone to; −1 at level 0.
        targets: ``[p, 1 + c]`` bool, the columns that are next. All false where nothing is (the path ends).
    """

    parents: Tensor
    columns: Tensor
    targets: Tensor

    def to(self, *args: object, **kwargs: object) -> GoldLevel:
        return GoldLevel(*(x.to(*args, **kwargs) for x in (self.parents, self.columns, self.targets)))  # type: ignore[call-overload]


def gold_levels(
    graphs: Sequence[EvidenceGraph], direction: str, *, columns: int, most_paths: int = 16
) -> list[GoldLevel]:
    """Every path of every gold graph, by length.

    Args:
        graphs: of the questions of a batch.
        direction: ``forward`` or ``backward``.
        columns: ``1 + c``; the root stands in column 0, fact ``i`` in column ``i + 1``.
        most_paths: paths of one question on one level; of a graph with more (many joins) the first ones are taken.

    Returns:
        The levels from 0 (one path for each question) to the longest path.
    """
    paths: list[tuple[int, int, int | None]] = [(i, i, None) for i in range(len(graphs))]  # parent, question, last node
    levels = []
    while paths:
        targets = torch.zeros(len(paths), columns, dtype=torch.bool)
        following: list[tuple[int, int, int | None]] = []
        room = [most_paths] * len(graphs)
        for number, (_, question, node) in enumerate(paths):
            for after in next_nodes(graphs[question], node, direction):
                targets[number, after + 1] = True
                if after != ROOT and room[question]:
                    room[question] -= 1
                    following.append((number, question, after))
        levels.append(
            GoldLevel(
                torch.tensor([parent for parent, _, _ in paths], dtype=torch.long),
                torch.tensor([-1 if node is None else node + 1 for _, _, node in paths], dtype=torch.long),
                targets,
            )
        )
        paths = following
    return levels
