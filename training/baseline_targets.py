"""What a trained baseline should have found: gold paths as tables, gold graphs as sequences of pointers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bgr.baselines.paths import END_COLUMN, PathTable
from bgr.baselines.ssg import NEW_CHAIN
from bgr.graph import ROOT, EvidenceGraph
from training.gold_paths import gold_levels

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
