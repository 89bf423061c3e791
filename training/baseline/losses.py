"""Losses of the trained baselines as in their papers, and their targets: gold paths and sequences of pointers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.baselines.beam import END_COLUMN, PathTable
from bgr.retrievers.baselines.dpr import DprModel
from bgr.retrievers.baselines.grr import GrrModel
from bgr.retrievers.baselines.mdr import MdrModel
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.ssg import NEW_CHAIN, SsgModel
from training.data_module import TrainingBatch
from training.retriever.loss import gold_facts, gold_levels, mean_over_questions

MAX_CHAINS = 16
"""Maximum number of chains per question; the first ones are used if a graph with many joins has more."""


def gold_paths(graphs: Sequence[EvidenceGraph], columns: int, device: torch.device) -> tuple[PathTable, Tensor]:
    """Every forward path of every graph, including the empty one, and its targets ``[p, 1 + c]`` bool: the next facts,
    or the end (column 0) if there are none. `columns` is ``c``."""
    levels = gold_levels(graphs, "forward", columns=1 + columns)
    questions, facts = [levels[0].parents], [torch.zeros(len(graphs), 0, dtype=torch.long)]
    for level in levels[1:]:
        questions.append(questions[-1][level.parents])
        facts.append(torch.cat([facts[-1][level.parents], level.columns[:, None] - 1], dim=1))
    deepest = facts[-1].shape[1]
    table = torch.cat([F.pad(part, (0, deepest - part.shape[1]), value=-1) for part in facts])
    targets = torch.cat([level.targets for level in levels])
    targets[:, END_COLUMN] = ~targets.any(1)
    return PathTable(torch.cat(questions), table).to(device), targets.to(device)


def gold_pointers(graphs: Sequence[EvidenceGraph], stop: int) -> tuple[Tensor, Tensor]:
    """The inputs ``[q, s]`` and targets ``[q, 1 + s]`` of SSG, padded with −1: the chains of each graph, separated by a
    pointer to the question; the targets end with the stop."""
    rows = []
    for graph in graphs:
        row: list[int] = []
        for chain in gold_chains(graph):
            row += [NEW_CHAIN] * bool(row) + [fact + 1 for fact in chain]
        rows.append(row)
    inputs, targets = (
        pad_sequence([torch.tensor([*row, *end], dtype=torch.long) for row in rows], batch_first=True, padding_value=-1)
        for end in ((), (stop,))
    )
    return inputs, targets


def gold_chains(graph: EvidenceGraph) -> list[list[int]]:
    """The paths from the question to each leaf, depth first, at most `MAX_CHAINS`."""
    found: list[list[int]] = []
    stack: list[list[int]] = [[fact] for fact in reversed(graph.successors(ROOT))]
    while stack and len(found) < MAX_CHAINS:
        path = stack.pop()
        after = graph.successors(path[-1])
        if not after:
            found.append(path)
        stack += [[*path, fact] for fact in reversed(after)]
    return found


def baseline_loss(model: BaselineModel, batch: TrainingBatch) -> Tensor:
    """The loss of any trained baseline, as the mean over the questions of the batch."""
    losses: dict[str, Callable[[Any, TrainingBatch], Tensor]]
    losses = {"dpr": dpr_loss, "grr": grr_loss, "mdr": mdr_loss, "ssg": ssg_loss}
    return losses[model.config.kind](model, batch)


def dpr_loss(model: DprModel, batch: TrainingBatch) -> Tensor:
    """Contrastive loss of each gold fact against the question's other candidates (hard negatives) and all facts of the
    other questions in the batch (arXiv:2004.04906, section 3.2)."""
    scores = model.scores(batch.batch)
    candidates = batch.batch.candidates
    gold = gold_facts(batch.graphs, candidates.shape[1]).to(scores.device)
    owner, column = gold.nonzero(as_tuple=True)
    positives = torch.zeros_like(scores, dtype=torch.bool)
    positives[owner, candidates[owner, column]] = True
    return contrastive_loss(scores, positives, torch.arange(len(scores), device=scores.device))


def mdr_loss(model: MdrModel, batch: TrainingBatch) -> Tensor:
    """Contrastive loss at every gold path: each next fact, or the end, against the end, the question's other candidates
    and all facts of the other questions in the batch (arXiv:2009.12756, section 2.2)."""
    encoded = model.encode_batch(batch.batch)
    paths, targets = gold_paths(batch.graphs, encoded.candidates.shape[1], encoded.facts.device)
    scores = model.scores(encoded, paths)
    # neither facts that are already on the path nor, for the empty path, the end
    closed = ~paths.open(encoded.candidates) & F.pad(encoded.candidates[paths.question] >= 0, (1, 0), value=True)
    positives, closed = (
        among_all(columns, paths.question, encoded.candidates, len(encoded.facts)) for columns in (targets, closed)
    )
    return contrastive_loss(scores.masked_fill(closed, float("-inf")), positives, paths.question)


def among_all(columns: Tensor, owner: Tensor, candidates: Tensor, facts: int) -> Tensor:
    """Map columns of a question's candidates to columns of all facts of the batch.

    *Shape:* ``columns [p, 1 + c]`` bool, ``owner [p]``, ``candidates [q, c]`` → ``[p, 1 + f]`` bool.
    """
    found = torch.zeros(len(columns), 1 + facts, dtype=torch.bool, device=columns.device)
    found[:, END_COLUMN] = columns[:, END_COLUMN]
    path, column = columns[:, END_COLUMN + 1 :].nonzero(as_tuple=True)
    found[path, 1 + candidates[owner[path], column]] = True
    return found


def grr_loss(model: GrrModel, batch: TrainingBatch) -> Tensor:
    """Binary cross-entropy at every gold path with target 1 for the next facts, or the end, and 0 for all others
    (arXiv:1911.10470, equation 5)."""
    encoded = model.encode_batch(batch.batch)
    paths, targets = gold_paths(batch.graphs, encoded.candidates.shape[1], encoded.facts.device)
    logits = model.logits(encoded, paths)
    is_open = logits > -torch.inf
    losses = F.binary_cross_entropy_with_logits(logits.masked_fill(~is_open, 0.0), targets.float(), reduction="none")
    return mean_over_questions((losses * is_open).sum(1), paths.question)


def ssg_loss(model: SsgModel, batch: TrainingBatch) -> Tensor:
    """Cross-entropy of every pointer given the gold pointers before it; mean over questions of the mean over steps."""
    encoded = model.encode_batch(batch.batch)
    inputs, targets = gold_pointers(batch.graphs, stop=encoded.mask.shape[1])
    inputs, targets = inputs.to(encoded.mask.device), targets.to(encoded.mask.device)
    steps = targets >= 0
    losses = F.cross_entropy(model.logits(encoded, inputs)[steps], targets[steps], reduction="none")
    return mean_over_questions(losses, steps.nonzero()[:, 0])


def contrastive_loss(scores: Tensor, positives: Tensor, owner: Tensor) -> Tensor:
    """``−log(e^{s⁺} / (e^{s⁺} + Σ e^{s⁻}))``: each positive against all negatives, but not against other positives.

    The result is the mean over questions of the mean over rows of the mean over positives; a row without positives
    counts 0.

    *Shape:* ``scores``, ``positives [n, m]``, with −inf for excluded columns; ``owner [n]`` → a scalar.
    """
    negatives = scores.masked_fill(positives, float("-inf")).logsumexp(1, keepdim=True)
    losses = F.softplus(negatives - scores).masked_fill(~positives, 0.0)
    return mean_over_questions(losses.sum(1) / positives.sum(1).clamp(min=1), owner)
