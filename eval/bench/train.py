"""What a step of training costs beside the bare encoder's forward and backward on the same tokens."""

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
from eval.bench.floor import BareEncoder
from eval.bench.reference.plain_model import PlainRetriever

MOST = 1.3
"""Target: a step takes at most so many times as long as the encoder's forward and backward."""


class Steps(Protocol):
    """A model and its batches, of which one optimiser step at a time can be made."""

    @property
    def model(self) -> BgrRetriever: ...

    @property
    def tokens(self) -> Sequence[Batch]: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype | None:
        """Of autocast, if any."""

    def graphs(self, number: int) -> Sequence[EvidenceGraph]:
        """Gold graphs of a batch."""

    def step(self, number: int, computed_by: nn.Module | None = None) -> None:
        """The whole step on a batch; by another form of the model if one is given."""


def bench_train(form: str, steps: Steps, *, rounds: int = 3, plain: bool = True, progress: bool = False) -> list[Line]:
    """Time one form of the model.

    Args:
        form: its name.
        steps: the model in training mode, and batches.
        rounds: of each batch the quickest of so many counts.
        plain: time the plain definition too, on the first batch, once.
        progress: show progress bars on standard error.

    Returns:
        The step against the bare encoder and against the plain definition, then a line for each avoided work.
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
    lines = [Line(f"{form}: training step", against, found["ours"], found["bare"], sum(questions), most=MOST)]
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
    """Forward, and backward where something is trained."""
    with _precision(steps):
        out = work()
    if out.requires_grad:
        out[out.isfinite()].sum().backward()


def _precision(steps: Steps) -> torch.autocast:
    return torch.autocast(steps.device.type, steps.dtype, enabled=steps.dtype is not None)
