"""The loss of each trained baseline, as its paper has it.

What a trained baseline should have found: gold paths as tables, gold graphs as sequences of pointers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.baselines.beam import END_COLUMN, PathTable
from bgr.retrievers.baselines.dpr import DprModel
from bgr.retrievers.baselines.grr import GrrModel
from bgr.retrievers.baselines.mdr import MdrModel
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.ssg import NEW_CHAIN, SsgModel
from training.data_module import TrainingBatch
from training.retriever.loss import gold_levels, mean_over_questions

MOST_CHAINS = 16
"""Chains of one question that are written; of a graph with more (many joins) the first ones are taken."""


def gold_facts(graphs: Sequence[EvidenceGraph], columns: int) -> Tensor:
    """``[q, c]`` bool, true at the facts of each graph."""
    targets = torch.zeros(len(graphs), columns, dtype=torch.bool)
    for row, graph in enumerate(graphs):
        targets[row, list(graph.nodes)] = True
    return targets


def gold_paths(graphs: Sequence[EvidenceGraph], columns: int) -> tuple[PathTable, Tensor]:
    """Every forward path of every graph, the empty one among them, and what is next on it.

    Args:
        graphs: of the questions of a batch.
        columns: ``c``, candidates of the question that has most.

    Returns:
        The paths, and ``[p, 1 + c]`` bool: the facts that are next, or the end (column 0) where there is none.
    """
    levels = gold_levels(graphs, "forward", columns=1 + columns)
    questions, facts = [levels[0].parents], [torch.zeros(len(graphs), 0, dtype=torch.long)]
    for level in levels[1:]:
        questions.append(questions[-1][level.parents])
        facts.append(torch.cat([facts[-1][level.parents], level.columns[:, None] - 1], dim=1))
    deepest = facts[-1].shape[1]
    table = torch.cat([torch.nn.functional.pad(part, (0, deepest - part.shape[1]), value=-1) for part in facts])
    targets = torch.cat([level.targets for level in levels])
    targets[:, END_COLUMN] = ~targets.any(1)
    return PathTable(torch.cat(questions), table), targets


def gold_pointers(graphs: Sequence[EvidenceGraph], stop: int) -> tuple[Tensor, Tensor]:
    """What SSG should write: the chains of each graph, a pointer to the question between two of them, the stop.

    Returns:
        What stands before each step ``[q, s]`` and what is to come ``[q, 1 + s]``; −1 behind their ends.
    """
    rows = []
    for graph in graphs:
        row: list[int] = []
        for chain in gold_chains(graph):
            row += [NEW_CHAIN] * bool(row) + [fact + 1 for fact in chain]
        rows.append(row)
    longest = max(map(len, rows))
    written = torch.tensor([row + [-1] * (longest - len(row)) for row in rows], dtype=torch.long)
    targets = torch.tensor([[*row, stop] + [-1] * (longest - len(row)) for row in rows], dtype=torch.long)
    return written.view(len(rows), longest), targets


def gold_chains(graph: EvidenceGraph) -> list[list[int]]:
    """The paths from the question to each last fact, depth first, at most `MOST_CHAINS`."""
    found: list[list[int]] = []
    stack: list[list[int]] = [[fact] for fact in reversed(graph.successors(ROOT))]
    while stack and len(found) < MOST_CHAINS:
        path = stack.pop()
        after = graph.successors(path[-1])
        if not after:
            found.append(path)
        stack += [[*path, fact] for fact in reversed(after)]
    return found


def baseline_loss(model: BaselineModel, batch: TrainingBatch) -> Tensor:
    """Of whichever baseline it is; the mean over the batch's questions."""
    if isinstance(model, DprModel):
        return dpr_loss(model, batch)
    if isinstance(model, GrrModel):
        return grr_loss(model, batch)
    if isinstance(model, MdrModel):
        return mdr_loss(model, batch)
    if isinstance(model, SsgModel):
        return ssg_loss(model, batch)
    raise BgrError(f"{type(model).__name__} has no loss")


def dpr_loss(model: DprModel, batch: TrainingBatch) -> Tensor:
    """Contrastive: each gold fact of a question against the question's other candidates (hard negatives) and all
    facts of the batch's other questions (arXiv:2004.04906, section 3.2)."""
    scores = model.scores(batch.batch)
    candidates = batch.batch.candidates
    gold = gold_facts([e.graph for e in batch.examples], candidates.shape[1]).to(scores.device)
    owner, place = gold.nonzero(as_tuple=True)
    positives = torch.zeros_like(scores, dtype=torch.bool)
    positives[owner, candidates[owner, place]] = True
    return contrastive_loss(scores, positives, torch.arange(len(scores), device=scores.device))


def mdr_loss(model: MdrModel, batch: TrainingBatch) -> Tensor:
    """Contrastive at every gold path: each next fact, or the end, against the end, the question's other candidates and
    all facts of the batch's other questions (arXiv:2009.12756, section 2.2)."""
    reading = model.encode_batch(batch.batch)
    paths, targets = gold_paths([e.graph for e in batch.examples], reading.candidates.shape[1])
    paths, targets = paths.to(reading.facts.device), targets.to(reading.facts.device)
    scores = model.scores(reading, paths)
    # not its own facts, which it has already, and not the end where it has none
    closed = ~paths.open(reading.candidates) & F.pad(reading.candidates[paths.question] >= 0, (1, 0), value=True)
    positives, closed = (
        among_all(columns, paths.question, reading.candidates, len(reading.facts)) for columns in (targets, closed)
    )
    return contrastive_loss(scores.masked_fill(closed, float("-inf")), positives, paths.question)


def among_all(columns: Tensor, owner: Tensor, candidates: Tensor, facts: int) -> Tensor:
    """From a question's own columns to those of all facts of the batch.

    *Shape:* ``columns [p, 1 + c]`` bool, ``owner [p]``, ``candidates [q, c]`` → ``[p, 1 + f]`` bool.
    """
    found = torch.zeros(len(columns), 1 + facts, dtype=torch.bool, device=columns.device)
    found[:, END_COLUMN] = columns[:, END_COLUMN]
    path, place = columns[:, END_COLUMN + 1 :].nonzero(as_tuple=True)
    found[path, 1 + candidates[owner[path], place]] = True
    return found


def grr_loss(model: GrrModel, batch: TrainingBatch) -> Tensor:
    """Binary cross-entropy at every gold path: each fact that is next, or the end, is 1, all others 0
    (arXiv:1911.10470, equation 5)."""
    reading = model.encode_batch(batch.batch)
    paths, targets = gold_paths([e.graph for e in batch.examples], reading.candidates.shape[1])
    paths, targets = paths.to(reading.facts.device), targets.to(reading.facts.device)
    logits = model.logits(reading, paths)
    is_open = logits > -torch.inf
    losses = F.binary_cross_entropy_with_logits(logits.masked_fill(~is_open, 0.0), targets.float(), reduction="none")
    return mean_over_questions((losses * is_open).sum(1), paths.question)


def ssg_loss(model: SsgModel, batch: TrainingBatch) -> Tensor:
    """Cross-entropy of every pointer after the gold ones before it; mean over questions, each the mean of its steps."""
    reading = model.encode_batch(batch.batch)
    written, targets = gold_pointers([e.graph for e in batch.examples], stop=reading.mask.shape[1])
    written, targets = written.to(reading.mask.device), targets.to(reading.mask.device)
    steps = targets >= 0
    losses = F.cross_entropy(model.logits(reading, written)[steps], targets[steps], reduction="none")
    return mean_over_questions(losses, steps.nonzero()[:, 0])


def contrastive_loss(scores: Tensor, positives: Tensor, owner: Tensor) -> Tensor:
    """``−log(e^{s⁺} / (e^{s⁺} + Σ e^{s⁻}))``: each positive against all negatives, and never against another positive.

    Mean over questions, each the mean of its rows, each the mean of its positives; a row without any counts 0.

    *Shape:* ``scores``, ``positives [n, m]``, −inf where there is nothing to compare with; ``owner [n]`` → a scalar.
    """
    negatives = scores.masked_fill(positives, float("-inf")).logsumexp(1, keepdim=True)
    losses = F.softplus(negatives - scores).masked_fill(~positives, 0.0)
    return mean_over_questions(losses.sum(1) / positives.sum(1).clamp(min=1), owner)
