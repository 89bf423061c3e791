"""Decoding: all live paths of all questions of a batch advance together, one level at a time."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import torch
from torch import Tensor

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.models.retriever import ROOT_COLUMN, BgrRetriever, Paths, Reading
from bgr.retrieval import RetrievalResult


@torch.inference_mode()
def decode(model: BgrRetriever, reading: Reading, *, threshold: float | None = None) -> list[RetrievalResult]:
    """The evidence graph of each question.

    A path goes on to every fact whose probability is above the threshold and ends where there is none. Since every
    question has evidence, a first step with nothing above the threshold takes the most probable fact.

    Args:
        model: one direction.
        reading: the encoded batch.
        threshold: instead of the configuration's.

    Returns:
        For each question the graph, scored with the highest probability that any path gave an edge. `limits` says
        ``max_paths`` or ``max_depth`` where decoding was cut short, ``cycle`` where an edge was left out to keep the
        graph acyclic.
    """
    bound = model.config.threshold if threshold is None else threshold
    count = len(reading.columns)
    found: list[dict[Edge, float]] = [{} for _ in range(count)]
    limits: list[set[str]] = [set() for _ in range(count)]
    paths = model.start(reading)
    last = torch.full_like(paths.question, ROOT)
    for depth in range(model.config.max_depth + 1):
        chance = model.match(reading, paths).sigmoid()
        chosen = chance > bound
        if depth == 0:
            chosen |= _best(chance)
        if depth == model.config.max_depth:
            for path in chosen.any(1).nonzero().flatten().tolist():
                limits[int(paths.question[path])].add("max_depth")
            break
        _record(model, found, paths, last, chance, chosen, first=depth == 0)
        parents, columns = _continuing(chosen, chance, paths, model.config.max_paths, limits)
        if not len(parents):
            break
        paths = model.extend(reading, paths, parents, columns)
        last = columns - 1
    return [_finish(edges, seen) for edges, seen in zip(found, limits, strict=True)]


def _best(chance: Tensor) -> Tensor:
    # [p, 1 + c] -> the same, true at each row's largest
    best = torch.zeros_like(chance, dtype=torch.bool)
    return best.scatter_(1, chance.argmax(1, keepdim=True), True)


def _record(
    model: BgrRetriever,
    found: list[dict[Edge, float]],
    paths: Paths,
    last: Tensor,
    chance: Tensor,
    chosen: Tensor,
    *,
    first: bool,
) -> None:
    """Write the chosen steps down as edges, in the graph's direction."""
    forward = model.config.direction == "forward"

    def add(question: int, edge: Edge, score: float) -> None:
        found[question][edge] = max(score, found[question].get(edge, 0.0))

    path, column = chosen.nonzero(as_tuple=True)
    rows = zip(
        paths.question[path].tolist(), last[path].tolist(), column.tolist(), chance[path, column].tolist(), strict=True
    )
    for question, before, to, score in rows:
        # columns count the root as 0, so column - 1 is the fact's number and ROOT for the root
        if forward:
            add(question, (before, to - 1), score)
        elif not first:
            add(question, (to - 1, before), score)
    if not forward and not first:
        # backward, a path at whose end nothing comes before has reached the question
        for end in (~chosen.any(1)).nonzero().flatten().tolist():
            add(int(paths.question[end]), (ROOT, int(last[end])), float(1 - chance[end].max()))


def _continuing(
    chosen: Tensor, chance: Tensor, paths: Paths, most: int, limits: list[set[str]]
) -> tuple[Tensor, Tensor]:
    """Parents and columns of the next level: at most `most` paths for each question, the most probable ones."""
    chosen = chosen.clone()
    chosen[:, ROOT_COLUMN] = False
    parents, columns = chosen.nonzero(as_tuple=True)
    owner = paths.question[parents]
    per_question = torch.bincount(owner, minlength=len(limits))
    if int(per_question.max()) <= most:
        return parents, columns
    for question in (per_question > most).nonzero().flatten().tolist():
        limits[question].add("max_paths")
    # sort by question, then by falling probability; a path's rank is its place after its question's first
    order = torch.argsort(chance[parents, columns], descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    first = per_question.cumsum(0) - per_question
    rank = torch.arange(len(order), device=order.device) - first[owner[order]]
    kept = order[rank < most].sort().values
    return parents[kept], columns[kept]


def _finish(edges: Mapping[Edge, float], limits: set[str]) -> RetrievalResult:
    kept, dropped = acyclic(edges)
    if dropped:
        limits.add("cycle")
    return RetrievalResult(EvidenceGraph.reachable(kept, edges), tuple(sorted(limits)))


def acyclic(edges: Mapping[Edge, float]) -> tuple[list[Edge], list[Edge]]:
    """Split scored edges into a DAG and the edges left out of it.

    Edges are taken by falling score (equal ones by their numbers); one that would close a cycle is left out.
    """
    graph: nx.DiGraph = nx.DiGraph()
    kept: list[Edge] = []
    dropped: list[Edge] = []
    for edge in sorted(edges, key=lambda e: (-edges[e], e)):
        a, b = edge
        if b in graph and a in graph and nx.has_path(graph, b, a):
            dropped.append(edge)
        else:
            graph.add_edge(a, b)
            kept.append(edge)
    return kept, dropped
