"""The candidates that the graph model sees in training: what the pruner would let through, and all gold facts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.pruner import best_columns


def hard_columns(scores: Tensor, graphs: Sequence[EvidenceGraph], most: int) -> Tensor:
    """All gold facts of each question, and others with the best scores, at most `most` together.

    *Shape:* ``scores [q, c]``, −inf where there is no candidate → ``[q, k]`` in the order of the candidates, padded
    with −1; ``k`` is `most`, or more if a graph has more facts.
    """
    if scores.shape[1] <= most:
        return best_columns(scores, scores.shape[1])
    scores = scores.clone()
    for row, graph in enumerate(graphs):
        scores[row, list(graph.nodes)] = torch.finfo(scores.dtype).max
    return best_columns(scores, max([most, *(len(graph.nodes) for graph in graphs)]))


def in_columns(graph: EvidenceGraph, columns: Sequence[int], *, whole: bool = True) -> EvidenceGraph:
    """The graph over the candidates `columns`, numbered by their place. Unless it must be `whole`, edges of other
    candidates, and what only they lead to, are dropped."""
    places = {ROOT: ROOT, **{column: place for place, column in enumerate(columns) if column >= 0}}
    edges = [(a, b) for a, b in graph.edges if whole or (a in places and b in places)]
    return EvidenceGraph.reachable((places[a], places[b]) for a, b in edges)
