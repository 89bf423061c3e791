"""What the graphs of both directions cost beside the bare encoders' forward on the same tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bgr.data.example import Example
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.retriever import BgrRetriever
from bgr.models.state_cache import cache_encoded
from bgr.pipeline import read_alike
from bgr.retrievers.base import DirectionResult
from bgr.retrievers.graph_hop.decode import EXPLORE, decode
from eval.bench.avoided import avoided
from eval.bench.clock import Line, in_turns
from eval.bench.floor import BareEncoder
from eval.bench.oracle_retriever import GoldWalk
from eval.bench.reference.plain_model import PlainRetriever

MOST = 1.2
"""Target: both graphs take at most so many times as long as the bare encoders."""

MOST_MS = 15.0
"""Target with kept fact states: milliseconds a question of 25 facts, on two cores with an encoder of MiniLM's size."""

Graphs = list[list[DirectionResult]]


@dataclass(frozen=True)
class Pair:
    """Both directions and how they are run.

    Args:
        forward, backward: in evaluation mode, on their device.
        tokenizer: of their encoder.
        trained: whether they find paths of their own; others are led along the gold's.
        dtype: of autocast, if any.
    """

    forward: BgrRetriever
    backward: BgrRetriever
    tokenizer: Any
    trained: bool
    dtype: torch.dtype | None = None

    @property
    def models(self) -> tuple[BgrRetriever, BgrRetriever]:
        return self.forward, self.backward

    @property
    def device(self) -> torch.device:
        return self.forward.device

    def precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype is not None)


class _Batches:
    """Groups of examples as token ids, with their facts' kept states beside."""

    def __init__(self, pair: Pair, groups: Sequence[Sequence[Example]], folder: Path, progress: bool) -> None:
        self.pair, self.groups = pair, groups
        self.facts = self._all_facts()
        self.kept = [self._all_facts() for _ in pair.models]
        for model, facts in zip(pair.models, self.kept, strict=True):
            with pair.precision():
                cache_encoded(facts, model, folder, progress=progress)
        self.shared = read_alike(*pair.models)
        self.tokens = [self.batch(number, self.facts) for number in range(len(groups))]

    def _all_facts(self) -> Sentences:
        most = self.pair.forward.config.fact_tokens
        return Sentences((f for g in self.groups for e in g for f in e.facts), self.pair.tokenizer, max_tokens=most)

    def batch(self, number: int, facts: Sentences) -> Batch:
        group, most = self.groups[number], self.pair.forward.config.question_tokens
        questions = Sentences((e.question for e in group), self.pair.tokenizer, max_tokens=most)
        return make_batch(questions, facts, [(e.question, e.facts) for e in group]).to(self.pair.device)

    @torch.inference_mode()
    def graphs(self, number: int, *, plain: bool = False) -> Graphs:
        """From token ids to both directions' graphs; frozen layers that both share run once."""
        batch, found = self.tokens[number], []
        with self.pair.precision():
            if self.shared and not plain:
                lower = self.pair.forward.encoder.lower
                batch = Batch(lower(batch.questions), lower(batch.facts), batch.candidates)
            for model in self.pair.models:
                found.append(self._walk(number, PlainRetriever(model) if plain else model, batch))
        return found

    @torch.inference_mode()
    def graphs_of_kept(self, number: int) -> Graphs:
        """From the question's text and the facts' kept states to both directions' graphs."""
        found: Graphs = []
        with self.pair.precision():
            for model, facts in zip(self.pair.models, self.kept, strict=True):
                batch = self.batch(number, facts)
                if not (found and self.shared):
                    questions = model.encoder.lower(batch.questions)
                found.append(self._walk(number, model, Batch(questions, batch.facts, batch.candidates)))
        return found

    @torch.inference_mode()
    def bare(self, number: int, encoders: Sequence[BareEncoder]) -> None:
        with self.pair.precision():
            for encoder in encoders:
                encoder.forward(self.tokens[number])

    def _walk(self, number: int, model: Any, batch: Batch) -> list[DirectionResult]:
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        walker: Any = model if self.pair.trained else GoldWalk(model, [e.graph for e in self.groups[number]])
        return decode(walker, encoded, explore=EXPLORE)


def bench_infer(
    form: str,
    pair: Pair,
    examples: Sequence[Example],
    folder: Path,
    *,
    batch_size: int = 16,
    rounds: int = 3,
    plain: bool = True,
    progress: bool = False,
) -> list[Line]:
    """Time one form of the model.

    Args:
        form: its name.
        pair: both directions.
        examples: the questions.
        folder: for kept fact states.
        batch_size: questions at a time; the kept states are timed with one at a time, too.
        rounds: of each batch the quickest of so many counts.
        plain: time the plain definition too, on the first batch, once.
        progress: show progress bars on standard error.

    Returns:
        Both graphs against the bare encoders and against the plain definition, with kept fact states, then a line for
        each avoided work of the forward direction.
    """
    groups = [examples[i : i + batch_size] for i in range(0, len(examples), batch_size)]
    batches, single = (_Batches(pair, part, folder, progress) for part in (groups, [[e] for e in examples]))
    shared = bool(pair.forward.config.frozen_layers) and batches.shared
    encoders = [BareEncoder(model.encoder.bert) for model in pair.models][: 1 if shared else 2]
    against = f"{'the bare encoder that both share' if shared else 'both bare encoders'}, forward"
    timed = partial(in_turns, device=pair.device, progress=progress)
    count, numbers = len(examples), range(len(groups))
    found = timed(
        {
            "graphs": [partial(batches.graphs, number) for number in numbers],
            "kept": [partial(batches.graphs_of_kept, number) for number in numbers],
            "bare": [partial(batches.bare, number, encoders) for number in numbers],
        },
        rounds=rounds,
        name=f"{form}: graphs",
    )
    alone = timed(
        {
            "kept": [partial(single.graphs_of_kept, number) for number in range(count)],
            "bare": [partial(single.bare, number, encoders) for number in range(count)],
        },
        rounds=rounds,
        name=f"{form}: one at a time",
    )
    lines = [
        Line(f"{form}: both graphs", against, found["graphs"], found["bare"], count, most=MOST),
        Line(f"{form}: both graphs, facts kept", against, found["kept"], found["bare"], count, most_ms=MOST_MS),
        Line(f"{form}: both graphs, facts kept, one at a time", against, alone["kept"], alone["bare"], count),
    ]
    if plain:
        sides: dict[str, list[Callable[[], object]]] = {
            "ours": [partial(batches.graphs, 0)],
            "plain": [partial(batches.graphs, 0, plain=True)],
        }
        both = timed(sides, rounds=1, warm=False, name=f"{form}: plain definition")
        lines.append(Line(f"{form}: both graphs", "plain definition", both["ours"], both["plain"], len(groups[0])))
    return lines + _avoided(form, pair, batches, timed, rounds)


def _avoided(form: str, pair: Pair, batches: _Batches, timed: Any, rounds: int) -> list[Line]:
    graphs = [example.graph for example in batches.groups[0]]
    lines = []
    with pair.precision():
        pieces = avoided(pair.forward, batches.tokens[0], graphs, training=False)
    for piece in pieces:
        sides = {"ours": [partial(_alone, pair, piece.fast)], "plain": [partial(_alone, pair, piece.slow)]}
        found = timed(sides, rounds=rounds, name=f"{form}: {piece.work}")
        lines.append(Line(f"{form}: {piece.work}", piece.against, found["ours"], found["plain"], len(graphs)))
    return lines


@torch.inference_mode()
def _alone(pair: Pair, work: Callable[[], object]) -> None:
    with pair.precision():
        work()
