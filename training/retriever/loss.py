"""The training loss over all gold paths and their candidates.

The gold paths of a batch, level by level, and what is next at the end of each (teacher forcing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bgr.graph.evidence_graph import ROOT, EvidenceGraph, next_nodes
from bgr.models.retriever import BgrRetriever, EncodedBatch, Paths


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


def gold_logits(
    model: BgrRetriever, encoded: EncodedBatch, levels: Sequence[GoldLevel]
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and targets at the end of every gold path, where it ends among them: two tensors ``[p, 1 + c]``; and the
    question of each path ``[p]``.

    A column that a path may not go to has the logit −inf.
    """
    paths = model.start(encoded)
    every = [paths]
    for level in levels[1:]:
        paths = model.extend(encoded, paths, level.parents, level.columns)
        every.append(paths)
    # one call for all levels
    together = Paths.joined(every)
    return model.match(encoded, together), torch.cat([level.targets for level in levels]), together.question


def gold_relevance(encoded: EncodedBatch, graphs: Sequence[EvidenceGraph]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and targets of every candidate's relevance: is it in the gold graph at all? Two tensors ``[q, c]``; and
    the question of each row ``[q]``."""
    columns = encoded.columns[:, 1:]
    targets = torch.zeros_like(columns, dtype=torch.bool)
    for row, graph in enumerate(graphs):
        targets[row, list(graph.nodes)] = True
    logits = encoded.relevance.float()[columns.clamp(min=0)].masked_fill(columns < 0, float("-inf"))
    return logits, targets, torch.arange(len(graphs), device=logits.device)


def multi_label_loss(logits: Tensor, targets: Tensor, owner: Tensor) -> Tensor:
    """``½ log(1 + Σ e^s) + ½ log(1 + Σ e^-s)``, first over negatives, then over positives; mean over questions, each
    the mean of its rows.

    So every question weighs the same however many paths it has, and the loss of a batch is the mean of the losses of
    its halves: how a batch is cut for several processes or for gradient accumulation changes nothing.

    Each sum is ruled by its largest term, so a row costs little only when *all* of its labels are on their side of 0:
    what a graph needs that must be right as a whole. Binary cross-entropy is content when most of them are.
    Source: ZLPR (arXiv:2208.02955).

    *Shape:* ``logits``, ``targets [n, m]``; ``owner [n]``, the question of each row, from 0 → a scalar. A logit of −inf
    is no label at all.
    """
    zero = logits.new_zeros(len(logits), 1)
    extra = torch.cat([zero, logits.masked_fill(targets, float("-inf"))], dim=1).logsumexp(1)
    missed = torch.cat([zero, (-logits).masked_fill(~targets, float("-inf"))], dim=1).logsumexp(1)
    return mean_over_questions((extra + missed) / 2, owner)


def mean_over_questions(rows: Tensor, owner: Tensor) -> Tensor:
    """Mean over questions, each the mean of its rows. *Shape:* ``rows``, ``owner [n]`` → a scalar."""
    # no more questions than rows; the number of questions is never read back from the device
    count = torch.zeros_like(rows).index_add_(0, owner, torch.ones_like(rows))
    share = 1 / count[owner]
    return (rows * share).sum() / share.sum()
