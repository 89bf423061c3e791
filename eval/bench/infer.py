"""Benchmark of retrieval in both directions against the forward pass of the bare encoders on the same tokens."""

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
from bgr.retrievers.graph_hop.decode import EXPLORE, decode
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from eval.bench.avoided import avoided
from eval.bench.clock import Line, in_turns
from eval.bench.reference.plain_model import PlainRetriever
from eval.bench.reference.timed_models import BareEncoder, OracleRetriever

MAX_RATIO = 1.2
"""Target: maximum ratio of both graphs to the bare encoders."""

MAX_MS = 15.0
"""Target with cached fact states: milliseconds per question of 25 facts on two cores with MiniLM."""

Graphs = list[list[DirectionResult]]


@dataclass(frozen=True)
class Pair:
    """Both directions and their settings.

    Args:
        forward, backward: the models in evaluation mode, on their device.
        tokenizer: tokenizer of their encoder.
        trained: the models follow their own paths; untrained ones follow the gold graphs.
        dtype: data type of autocast, if any.
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
    """Groups of examples as token ids, with cached states of their facts."""

    def __init__(self, pair: Pair, groups: Sequence[Sequence[Example]], folder: Path, progress: bool) -> None:
        self.pair, self.groups = pair, groups
        self.facts = self._all_facts()
        self.cached = [self._all_facts() for _ in pair.models]
        for model, facts in zip(pair.models, self.cached, strict=True):
            with pair.precision():
                cache_encoded(facts, model, folder, progress=progress)
        self.shared = read_alike(*pair.models)
        self.tokens = [self.batch(number, self.facts) for number in range(len(groups))]

    def _all_facts(self) -> Sentences:
        texts = (f for g in self.groups for e in g for f in e.facts)
        return Sentences(texts, self.pair.tokenizer, max_tokens=self.pair.forward.config.fact_tokens)

    def batch(self, number: int, facts: Sentences) -> Batch:
        group, limit = self.groups[number], self.pair.forward.config.question_tokens
        questions = Sentences((e.question for e in group), self.pair.tokenizer, max_tokens=limit)
        return make_batch(questions, facts, [(e.question, e.facts) for e in group]).to(self.pair.device)

    @torch.inference_mode()
    def graphs(self, number: int, *, plain: bool = False) -> Graphs:
        """Both graphs from token ids; shared frozen layers run once."""
        batch, found = self.tokens[number], []
        with self.pair.precision():
            if self.shared and not plain:
                lower = self.pair.forward.encoder.lower
                batch = Batch(lower(batch.questions), lower(batch.facts), batch.candidates)
            for model in self.pair.models:
                found.append(self._decode(number, PlainRetriever(model) if plain else model, batch))
        return found

    @torch.inference_mode()
    def graphs_from_cache(self, number: int) -> Graphs:
        """Both graphs from the text of the question and the cached states of facts."""
        found: Graphs = []
        with self.pair.precision():
            for model, facts in zip(self.pair.models, self.cached, strict=True):
                batch = self.batch(number, facts)
                if not (found and self.shared):
                    questions = model.encoder.lower(batch.questions)
                found.append(self._decode(number, model, Batch(questions, batch.facts, batch.candidates)))
        return found

    @torch.inference_mode()
    def bare(self, number: int, encoders: Sequence[BareEncoder]) -> None:
        with self.pair.precision():
            for encoder in encoders:
                encoder.forward(self.tokens[number])

    def _decode(self, number: int, model: Any, batch: Batch) -> list[DirectionResult]:
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        oracle: Any = model if self.pair.trained else OracleRetriever(model, [e.graph for e in self.groups[number]])
        return decode(oracle, encoded, explore=EXPLORE)


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
        form: name of the form.
        pair: both directions.
        examples: the questions.
        folder: folder for cached fact states.
        batch_size: questions per batch; with cached states, single questions are timed too.
        rounds: number of rounds, of which the fastest counts.
        plain: also time the plain definition, once on the first batch.
        progress: show progress bars on standard error.

    Returns:
        Both graphs against the bare encoders and the plain definition, also with cached fact states, and a line for
        each piece of avoided work of the forward direction.
    """
    groups = [examples[i : i + batch_size] for i in range(0, len(examples), batch_size)]
    batches, single = (_Batches(pair, part, folder, progress) for part in (groups, [[e] for e in examples]))
    shared = bool(pair.forward.config.frozen_layers) and batches.shared
    encoders = [BareEncoder(model.encoder.bert) for model in pair.models][: 1 if shared else 2]
    against = f"{'the shared bare encoder' if shared else 'both bare encoders'}, forward"
    timed = partial(in_turns, device=pair.device, progress=progress)
    count, numbers = len(examples), range(len(groups))
    found = timed(
        {
            "graphs": [partial(batches.graphs, number) for number in numbers],
            "cached": [partial(batches.graphs_from_cache, number) for number in numbers],
            "bare": [partial(batches.bare, number, encoders) for number in numbers],
        },
        rounds=rounds,
        name=f"{form}: graphs",
    )
    alone = timed(
        {
            "cached": [partial(single.graphs_from_cache, number) for number in range(count)],
            "bare": [partial(single.bare, number, encoders) for number in range(count)],
        },
        rounds=rounds,
        name=f"{form}: one at a time",
    )
    lines = [
        Line(f"{form}: both graphs", against, found["graphs"], found["bare"], count, max_ratio=MAX_RATIO),
        Line(f"{form}: both graphs, facts cached", against, found["cached"], found["bare"], count, max_ms=MAX_MS),
        Line(f"{form}: both graphs, facts cached, one at a time", against, alone["cached"], alone["bare"], count),
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
