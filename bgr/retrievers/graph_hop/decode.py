"""Decoding: all live paths of all questions of a batch advance together, one level at a time, over the candidates that
the pruner lets through. The result is over all candidates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.graph.dag import graph_of
from bgr.graph.evidence_graph import ROOT, Edge
from bgr.models.batching import Batch
from bgr.models.pruner import best_columns
from bgr.models.retriever import ROOT_COLUMN, BgrRetriever, EncodedBatch, Paths
from bgr.retrievers.graph_hop.likelihood import FLOOR, DirectionResult, Path, Step

EXPLORE = 2.2
"""Log-odds below the threshold down to which paths are followed for `fused`: a probability of 0.1 if it is ½."""

MAX_EXPLORED = 16
"""Number of paths of one question at one level from which on none below the threshold is followed. A trained model has
fewer; an untrained one would follow hundreds."""

PRUNED = "candidates"
"""Name of the limit of a question that has more candidates than are read."""

LIMITS = {
    PRUNED: "only the candidates that the pruner scored best were read",
    "max_paths": "a level had more paths than were followed, so edges may be missing",
    "max_depth": "a path was as long as allowed and went no further",
    "cycle": "an edge was left out, since it would have closed a cycle",
    "fusion": "the search for the most probable graph of both directions was cut short",
}
"""What each limit of a result means."""


@torch.inference_mode()
def decode(
    model: BgrRetriever, encoded: EncodedBatch, *, threshold: float | None = None, explore: float = 0.0
) -> list[DirectionResult]:
    """The evidence graph of each question.

    A path is extended by every fact whose probability reaches the threshold and ends if there is none. A first step
    without such a fact takes the most probable one; whether there is evidence at all is for
    `bgr.retrievers.graph_hop.completeness` to tell.

    An edge's odds are those of the weakest step on the best path that takes it, relative to the threshold: the graph
    has the edges at 0 and above.

    Args:
        threshold: replaces the configuration's.
        explore: also follow paths this far below the threshold, in log-odds. The graph stays the same, but `odds` and
            `steps` include alternatives. With 0 there are no `steps`.

    Returns:
        For each question the graph, the odds of every scored edge, and the limits: ``max_paths`` or ``max_depth`` if
        the graph was cut short, ``cycle`` if an edge was left out to keep it acyclic (see `LIMITS`).
    """
    threshold = model.config.threshold if threshold is None else threshold
    bound = math.log(threshold / (1 - threshold))  # log-odds
    forward = model.config.direction == "forward"
    count = len(encoded.columns)
    found: list[dict[Edge, float]] = [{} for _ in range(count)]
    steps: list[dict[Path, Step]] = [{} for _ in range(count)]
    limits: list[set[str]] = [set() for _ in range(count)]
    walked: list[Path] = [()] * count
    paths = model.start(encoded)
    last = torch.full_like(paths.question, ROOT)
    reached = torch.full(last.shape, float("inf"), device=last.device)
    for depth in range(model.config.max_depth + 1):
        logits = model.match(encoded, paths)
        if explore:
            _keep_steps(steps, paths, walked, logits)
        margin = logits - bound
        if depth == 0:
            margin = _at_least_one(margin)
        odds = torch.minimum(reached[:, None], margin)
        ends = odds if forward else _with_ends(margin, odds, reached)
        if cut := depth == model.config.max_depth:
            longer = odds.index_fill(1, torch.tensor(ROOT_COLUMN, device=odds.device), float("-inf"))
            for path in (longer >= 0).any(1).nonzero().flatten().tolist():
                limits[int(paths.question[path])].add("max_depth")
            # no further fact, but backward the question may follow the last one
            ends = ends.masked_fill(torch.arange(ends.shape[1], device=ends.device) != ROOT_COLUMN, float("-inf"))
        if forward or depth > 0:  # backward, the choice of the last fact is not an edge
            _record(found, paths, last, ends, forward=forward)
        if cut:
            break
        parents, columns = _continuing(odds, -explore, paths, model.config.max_paths, limits)
        if not len(parents):
            break
        paths = model.extend(encoded, paths, parents, columns)
        last, reached = columns - 1, odds[parents, columns]
        walked = [(*walked[path], column - 1) for path, column in zip(parents.tolist(), columns.tolist(), strict=True)]
    complete = [None] * count if encoded.completeness is None else encoded.completeness.float().tolist()
    return [_finish(*each) for each in zip(found, steps, limits, complete, strict=True)]


def _at_least_one(margin: Tensor) -> Tensor:
    # [p, 1 + c] -> the same, each row's largest raised to 0
    best = margin.argmax(1, keepdim=True)
    return margin.scatter(1, best, margin.gather(1, best).clamp(min=0))


def _with_ends(margin: Tensor, odds: Tensor, reached: Tensor) -> Tensor:
    """Backward, a path without a predecessor has reached the question: the root's odds are at least those of having
    none. *Shape:* all ``[p, 1 + c]``, ``reached [p]``."""
    end = torch.minimum(reached, -margin.amax(1))
    odds = odds.clone()
    odds[:, ROOT_COLUMN] = torch.maximum(odds[:, ROOT_COLUMN], end)
    return odds


def _record(found: list[dict[Edge, float]], paths: Paths, last: Tensor, odds: Tensor, *, forward: bool) -> None:
    """Record the steps as edges in the graph's direction, each with the odds of its best path."""
    # edges that nothing can raise again are as good as not scored
    path, column = (odds > FLOOR).nonzero(as_tuple=True)
    rows = zip(
        paths.question[path].tolist(), last[path].tolist(), column.tolist(), odds[path, column].tolist(), strict=True
    )
    for question, at, to, score in rows:
        # columns count the root as 0, so to - 1 is the fact's number and ROOT for the root
        edge = (at, to - 1) if forward else (to - 1, at)
        edges = found[question]
        edges[edge] = max(score, edges.get(edge, score))


def _keep_steps(steps: list[dict[Path, Step]], paths: Paths, walked: list[Path], logits: Tensor) -> None:
    """Record the prediction at the end of each path. *Shape:* ``logits [p, 1 + c]``, −inf where not allowed."""
    nothing = F.logsigmoid(-logits).sum(1).tolist()
    odds: list[dict[int, float]] = [{} for _ in walked]
    path, column = (logits > FLOOR).nonzero(as_tuple=True)
    for at, to, value in zip(path.tolist(), column.tolist(), logits[path, column].tolist(), strict=True):
        odds[at][to - 1] = value  # columns count the root as 0
    for question, facts, *step in zip(paths.question.tolist(), walked, nothing, odds, strict=True):
        steps[question][facts] = Step(*step)


def _continuing(odds: Tensor, floor: float, paths: Paths, most: int, limits: list[set[str]]) -> tuple[Tensor, Tensor]:
    """Parents and columns of the next level: the `most` most probable paths of each question; below the threshold only
    as many as make up `MAX_EXPLORED`."""
    chosen = odds >= floor
    chosen[:, ROOT_COLUMN] = False
    parents, columns = chosen.nonzero(as_tuple=True)
    owner = paths.question[parents]
    per_question = torch.bincount(owner, minlength=len(limits))
    if int(per_question.max()) <= min(most, MAX_EXPLORED):
        return parents, columns
    # sort by question, then by decreasing odds; a path's rank is its position after its question's first
    scores = odds[parents, columns]
    order = torch.argsort(scores, descending=True, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    first = per_question.cumsum(0) - per_question
    rank = torch.arange(len(order), device=order.device) - first[owner[order]]
    found = scores[order] >= 0
    for question in owner[order[found & (rank >= most)]].tolist():
        limits[question].add("max_paths")
    kept = order[rank < torch.where(found, most, min(most, MAX_EXPLORED))].sort().values
    return parents[kept], columns[kept]


def _finish(
    odds: Mapping[Edge, float], steps: Mapping[Path, Step], limits: set[str], completeness: float | None
) -> DirectionResult:
    graph, dropped = graph_of(odds)
    if dropped:
        limits.add("cycle")
    return DirectionResult(graph, tuple(sorted(limits)), odds=odds, steps=steps, completeness=completeness)


@torch.inference_mode()
def kept_columns(model: BgrRetriever, batch: Batch) -> Tensor | None:
    """The candidates of each question that the model reads: ``[q, k]`` indices padded with −1, ``None`` for all."""
    most = model.config.prune
    if not most or batch.candidates.shape[1] <= most:
        return None
    return best_columns(model.prune(batch.questions, batch.facts, batch.candidates)[-1], most)


@torch.inference_mode()
def read(
    model: BgrRetriever, batch: Batch, *, threshold: float | None = None, explore: float = 0.0
) -> list[DirectionResult]:
    """The results of a batch of questions; arguments as of `decode`."""
    columns = kept_columns(model, batch)
    kept = batch if columns is None else batch.keep(columns)
    encoded = model.encode_batch(kept.questions, kept.facts, kept.candidates)
    found = decode(model, encoded, threshold=threshold, explore=explore)
    if columns is None:
        return found
    numbers = [[column for column in row if column >= 0] for row in columns.tolist()]
    counts = (batch.candidates >= 0).sum(1).tolist()
    return [unpruned(*each) for each in zip(found, numbers, counts, strict=True)]


def unpruned(result: DirectionResult, kept: list[int], count: int) -> DirectionResult:
    """The result over all `count` candidates of a question, of one over those that were kept."""
    if len(kept) == count:
        return result
    return replace(result.relabel(kept), limits=tuple(sorted({*result.limits, PRUNED})))
