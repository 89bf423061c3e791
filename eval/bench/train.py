"""Benchmark of a training step against forward and backward of the bare encoder on the same tokens."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.batching import Batch
from bgr.models.retriever import BgrRetriever
from eval.bench.avoided import avoided
from eval.bench.clock import Line, in_turns
from eval.bench.reference.plain_model import PlainRetriever
from eval.bench.reference.timed_models import BareEncoder

MAX_RATIO = 1.3
"""Target: maximum ratio of a step to the encoder's forward and backward."""


class Steps(Protocol):
    """A model with batches that can be trained one optimizer step at a time."""

    @property
    def model(self) -> BgrRetriever: ...

    @property
    def tokens(self) -> Sequence[Batch]: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype | None:
        """Data type of autocast, if any."""

    def graphs(self, number: int) -> Sequence[EvidenceGraph]:
        """Gold graphs of a batch."""

    def step(self, number: int, computed_by: nn.Module | None = None) -> None:
        """A complete step on a batch, computed by another form of the model if one is given."""


def bench_train(form: str, steps: Steps, *, rounds: int = 3, plain: bool = True, progress: bool = False) -> list[Line]:
    """Time one form of the model.

    Args:
        form: name of the form.
        steps: the model in training mode, with batches.
        rounds: number of rounds, of which the fastest counts.
        plain: also time the plain definition, once on the first batch.
        progress: show progress bars on standard error.

    Returns:
        The step against the bare encoder and against the plain definition, and a line for each piece of avoided work.
    """
    floor = BareEncoder(copy.deepcopy(steps.model.encoder.bert).requires_grad_(True))
    numbers = range(len(steps.tokens))
    timed = partial(in_turns, device=steps.device, progress=progress)
    sides: dict[str, list[Callable[[], object]]] = {
        "ours": [partial(steps.step, number) for number in numbers],
        "bare": [partial(_floor, steps, floor, number) for number in numbers],
    }
    found = timed(sides, rounds=rounds, name=f"{form}: steps")
    questions = [len(batch.candidates) for batch in steps.tokens]
    against = "bare encoder, forward + backward"
    lines = [Line(f"{form}: training step", against, found["ours"], found["bare"], sum(questions), max_ratio=MAX_RATIO)]
    if plain:
        slow = PlainRetriever(steps.model)
        sides = {"ours": [partial(steps.step, 0)], "plain": [partial(steps.step, 0, slow)]}
        found = timed(sides, rounds=1, warm=False, name=f"{form}: plain definition")
        lines.append(Line(f"{form}: training step", "plain definition", found["ours"], found["plain"], questions[0]))
    return lines + _avoided(form, steps, questions[0], timed, rounds)


def _avoided(form: str, steps: Steps, questions: int, timed: Any, rounds: int) -> list[Line]:
    lines = []
    for piece in avoided(steps.model, steps.tokens[0], steps.graphs(0), training=True):
        sides = {"ours": [partial(_both_ways, steps, piece.fast)], "plain": [partial(_both_ways, steps, piece.slow)]}
        found = timed(sides, rounds=rounds, name=f"{form}: {piece.work}")
        lines.append(Line(f"{form}: {piece.work}", piece.against, found["ours"], found["plain"], questions))
    return lines


def _floor(steps: Steps, floor: BareEncoder, number: int) -> None:
    with _precision(steps):
        floor.forward_backward(steps.tokens[number])


def _both_ways(steps: Steps, work: Callable[[], Tensor]) -> None:
    """Run forward, and backward if gradients are required."""
    with _precision(steps):
        out = work()
    if out.requires_grad:
        out[out.isfinite()].sum().backward()


def _precision(steps: Steps) -> torch.autocast:
    return torch.autocast(steps.device.type, steps.dtype, enabled=steps.dtype is not None)
