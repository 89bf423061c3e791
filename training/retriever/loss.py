"""The training loss over all gold paths of a batch and their candidates (teacher forcing)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.graph.evidence_graph import ROOT, EvidenceGraph, next_nodes
from bgr.models.retriever import BgrRetriever, EncodedBatch, Paths


class GoldLevel(NamedTuple):
    """All gold paths with the same number of facts.

    Args:
        parents: ``[p]`` index of the path of the previous level that each path extends; at level 0 the question.
        columns: ``[p]`` column of the last fact of each path; −1 at level 0.
        targets: ``[p, 1 + c]`` bool, true at the next columns; all false if the path ends.
    """

    parents: Tensor
    columns: Tensor
    targets: Tensor

    def to(self, device: torch.device) -> GoldLevel:
        return GoldLevel(*(part.to(device) for part in self))


def gold_levels(
    graphs: Sequence[EvidenceGraph], direction: str, *, columns: int, max_paths: int = 16
) -> list[GoldLevel]:
    """Every path of every gold graph, by length: level 0 has one path for each question. The root is in column 0 of ``1
    + c`` `columns`, fact ``i`` in column ``i + 1``. If a graph with many joins has more than `max_paths` paths of a
    level, the first ones are used."""
    paths: list[tuple[int, int, int | None]] = [(i, i, None) for i in range(len(graphs))]  # parent, question, last node
    levels = []
    while paths:
        targets = torch.zeros(len(paths), columns, dtype=torch.bool)
        following: list[tuple[int, int, int | None]] = []
        room = [max_paths] * len(graphs)
        for number, (_, question, node) in enumerate(paths):
            for after in next_nodes(graphs[question], node, direction):
                targets[number, after + 1] = True
                if after != ROOT and room[question]:
                    room[question] -= 1
                    following.append((number, question, after))
        parents, last = zip(*((parent, -1 if node is None else node + 1) for parent, _, node in paths), strict=True)
        levels.append(GoldLevel(torch.tensor(parents), torch.tensor(last), targets))
        paths = following
    return levels


def gold_logits(
    model: BgrRetriever, encoded: EncodedBatch, levels: Sequence[GoldLevel]
) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and targets ``[p, 1 + c]`` at the end of every gold path, and the question of each path ``[p]``.

    Columns that are not open to a path have the logit −inf.
    """
    every = [model.start(encoded)]
    for level in levels[1:]:
        every.append(model.extend(encoded, every[-1], level.parents, level.columns))
    # one call for all levels
    joined = Paths.joined(every)
    return model.match(encoded, joined), torch.cat([level.targets for level in levels]), joined.question


def gold_facts(graphs: Sequence[EvidenceGraph], columns: int) -> Tensor:
    """The facts of each graph, bool ``[q, c]``."""
    targets = torch.zeros(len(graphs), columns, dtype=torch.bool)
    for row, graph in enumerate(graphs):
        targets[row, list(graph.nodes)] = True
    return targets


def gold_relevance(encoded: EncodedBatch, graphs: Sequence[EvidenceGraph]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits and targets ``[q, c]`` of every candidate's relevance, that is, of its being in the gold graph, and the
    question of each row ``[q]``."""
    assert encoded.relevance is not None, "config.relevance is false"
    columns = encoded.columns[:, 1:]
    targets = gold_facts(graphs, columns.shape[1]).to(columns.device)
    logits = encoded.relevance.float()[columns.clamp(min=0)].masked_fill(columns < 0, float("-inf"))
    return logits, targets, torch.arange(len(graphs), device=logits.device)


def multi_label_loss(logits: Tensor, targets: Tensor, owner: Tensor, counted: Tensor | None = None) -> Tensor:
    """ZLPR loss (arXiv:2208.02955): ``½ log(1 + Σ e^s)`` over negatives plus ``½ log(1 + Σ e^-s)`` over positives.

    The result is the mean over questions of the mean over rows. Every question has the same weight for any number of
    paths, and the loss of a batch is the mean of the losses of its halves, so splitting a batch for several processes
    or for gradient accumulation changes nothing.

    The largest term dominates each sum, so the loss of a row is small only if *all* labels are on the correct side of
    0, as a graph requires that must be completely correct. Binary cross-entropy is already small if most of them are.

    *Shape:* ``logits``, ``targets [n, m]``; ``owner [n]``, the question of each row, from 0; ``counted [n]`` bool,
    false for rows whose loss is taken to be 0 → a scalar. A logit of −inf is not a label.
    """
    zero = logits.new_zeros(len(logits), 1)
    extra = torch.cat([zero, logits.masked_fill(targets, float("-inf"))], dim=1).logsumexp(1)
    missed = torch.cat([zero, (-logits).masked_fill(~targets, float("-inf"))], dim=1).logsumexp(1)
    return mean_over_questions((extra + missed) / 2, owner, counted)


def binary_loss(logits: Tensor, targets: Tensor, owner: Tensor, counted: Tensor | None = None) -> Tensor:
    """Mean binary cross-entropy of the labels of a row (paper, section 4.1); arguments, means and result as of
    `multi_label_loss`."""
    label = logits > float("-inf")
    each = F.binary_cross_entropy_with_logits(logits.masked_fill(~label, 0.0), targets.float(), reduction="none")
    rows = (each * label).sum(1) / label.sum(1).clamp(min=1)
    return mean_over_questions(rows, owner, counted)


LOSSES: Mapping[str, Callable[..., Tensor]] = {"bce": binary_loss, "zlpr": multi_label_loss}
"""Losses of labels by their names in configs."""


def pruner_loss(scores: Tensor, graphs: Sequence[EvidenceGraph], counted: Tensor) -> Tensor:
    """Mean over its rounds of the ZLPR loss of the pruner. *Shape:* ``scores [rounds, q, c]``, −inf where there is no
    candidate, ``counted [q]`` → a scalar."""
    targets = gold_facts(graphs, scores.shape[2]).to(scores.device)
    owner = torch.arange(scores.shape[1], device=scores.device)
    return torch.stack([multi_label_loss(one, targets, owner, counted) for one in scores]).mean()


def completeness_loss(logits: Tensor, answerable: Tensor) -> Tensor:
    """Binary cross-entropy of the logits ``[q]`` that the evidence of a question is complete."""
    return F.binary_cross_entropy_with_logits(logits.float(), answerable.float())


def mean_over_questions(rows: Tensor, owner: Tensor, counted: Tensor | None = None) -> Tensor:
    """Mean over questions of the mean over their rows, where those that are not `counted` are 0.

    *Shape:* ``rows``, ``owner``, ``counted [n]`` → a scalar."""
    if counted is not None:
        rows = rows.masked_fill(~counted, 0.0)
    # there are at most as many questions as rows; this avoids reading the number of questions from the device
    count = torch.zeros_like(rows).index_add_(0, owner, torch.ones_like(rows))
    share = 1 / count[owner]
    return (rows * share).sum() / share.sum()
