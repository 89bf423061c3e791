"""Work that the model avoids: each piece in its fast form and in the form of the plain definition.

A test checks that both forms of each piece are equal.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.graph.evidence_graph import EvidenceGraph, next_nodes
from bgr.models.batching import Batch
from bgr.models.ragged import Ragged, Rows
from bgr.models.retriever import BgrRetriever, EncodedBatch, Paths, pair_features
from bgr.retrievers.graph_hop.decode import decode

SURE = 8.0
"""Log-odds of a step in the gold graph; the negative value is that of any other step."""


class Avoided(NamedTuple):
    """One piece of work. `fast` and `slow` compute the same values."""

    work: str
    against: str
    fast: Callable[[], Tensor]
    slow: Callable[[], Tensor]


def avoided(model: BgrRetriever, batch: Batch, graphs: Sequence[EvidenceGraph], *, training: bool) -> list[Avoided]:
    """All pieces for one batch of token ids on the gold paths. In training, only states of frozen layers are cached."""
    oracle = OracleRetriever(model, graphs)
    with torch.no_grad():
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        encoded_facts = model.encode(batch.facts)
        lower = [model.encoder.lower(rows) for rows in (batch.questions, batch.facts)]
    decode(oracle, encoded)  # type: ignore[arg-type]
    steps = [(parents.clone(), columns.clone()) for parents, columns in oracle.steps]
    with torch.no_grad():
        paths = all_paths(model, encoded, steps)
        features = torch.cat([paths.open[..., None][..., :0].float(), *pair_features(encoded, paths)], -1)
        wanted = batch.candidates[batch.candidates >= 0]
        tokens = TokenStates.of(model.encode(batch.questions), model.encode(batch.facts).select(wanted))

    def encoding(questions: Rows, facts: Rows) -> Tensor:
        return model.encode_batch(questions, facts, batch.candidates).matching.queries

    pieces = [
        Avoided(
            "matcher: summary rows only, facts once",
            "whole layer for every path and fact",
            lambda: factorized(model, encoded, tokens, paths, features),
            lambda: whole_layer(model, encoded, tokens, paths, features),
        ),
        Avoided(
            "paths level by level",
            "one by one",
            lambda: model.match(encoded, all_paths(model, encoded, steps)),
            lambda: one_by_one(model, encoded, steps),
        ),
        Avoided(
            "encoder on packed rows",
            "padded to the longest",
            lambda: model.encoder(batch.facts).flat,
            lambda: padded(model, batch.facts),
        ),
        Avoided(
            "equal facts encoded once",
            "each time",
            lambda: model.encode(batch.facts).select(wanted).flat,
            lambda: model.encode(batch.facts.select(wanted)).flat,
        ),
    ]
    if model.device.type == "cpu":
        pieces.append(_new_numbers(model, tokens.facts[tokens.fact_mask]))
    cached: dict[str, Sequence[Rows]] = {}
    if not training:
        cached["fact states"] = (batch.questions, encoded_facts)
    if model.encoder.frozen_layers:
        cached["states of frozen layers"] = lower
    return pieces + [
        Avoided(
            f"encoding, {name} cached",
            "computed each time",
            partial(encoding, *states),
            partial(encoding, batch.questions, batch.facts),
        )
        for name, states in cached.items()
    ]


def _new_numbers(model: BgrRetriever, states: Tensor) -> Avoided:
    """The linear layers of a path update for numbers of rows that are new at each call, as those of batches are."""
    plain = copy.deepcopy(model.update.feed)
    for layer in plain:
        if isinstance(layer, nn.Linear):
            layer.__class__ = nn.Linear  # PyTorch's own, with the same weights

    def next_rows(form: nn.Module) -> Callable[[], Tensor]:
        numbers = itertools.cycle(range(len(states), len(states) // 2, -1))
        return lambda: form(states[: next(numbers)])

    return Avoided(
        "linear layers with round numbers of rows",
        "a kernel for each new number",
        next_rows(model.update.feed),
        next_rows(plain),
    )


def all_paths(model: BgrRetriever, encoded: EncodedBatch, steps: Sequence[tuple[Tensor, Tensor]]) -> Paths:
    """The paths of all levels, each level extended in one call."""
    every = [model.start(encoded)]
    for parents, columns in steps:
        every.append(model.extend(encoded, every[-1], parents, columns))
    return Paths.joined(every)


def one_by_one(model: BgrRetriever, encoded: EncodedBatch, steps: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The logits of the same paths, each extended and matched alone."""
    start, zero = model.start(encoded), torch.zeros(1, dtype=torch.long, device=encoded.columns.device)
    single = zip(*(getattr(start, field.name).split(1) for field in fields(Paths)), strict=True)
    level = [Paths(*parts) for parts in single]
    logits = [model.match(encoded, path) for path in level]
    for parents, columns in steps:
        level = [
            model.extend(encoded, level[parent], zero, columns[number : number + 1])
            for number, parent in enumerate(parents.tolist())
        ]
        logits += [model.match(encoded, path) for path in level]
    return torch.cat(logits)


class TokenStates(NamedTuple):
    """Token states of the facts of all questions in turn, and of the questions, before any context: ``[f, t, d]``,
    ``[f, t]``, ``[q, t, d]``, ``[q, t]``."""

    facts: Tensor
    fact_mask: Tensor
    questions: Tensor
    question_mask: Tensor

    @classmethod
    def of(cls, questions: Ragged, facts: Ragged) -> TokenStates:
        return cls(facts.padded(), facts.mask(), questions.padded(), questions.mask())


def factorized(
    model: BgrRetriever, encoded: EncodedBatch, tokens: TokenStates, paths: Paths, features: Tensor
) -> Tensor:
    """Summary rows of every sentence and the matcher, as in a model without context; the features of pairs are
    given."""
    rows = [model.fact_rows(tokens.facts, tokens.fact_mask), model.fact_rows(tokens.questions, tokens.question_mask)]
    indices, mask = encoded.columns[paths.question].clamp(min=0), encoded.question_mask[paths.question]
    logits = model.matcher(paths.states, mask, model.matcher.prepare(torch.cat(rows)), indices, [features])
    return logits.masked_fill(~paths.open, float("-inf"))


def whole_layer(
    model: BgrRetriever, encoded: EncodedBatch, tokens: TokenStates, paths: Paths, features: Tensor
) -> Tensor:
    """The same with the complete matching layer for every path: self-attention over each candidate's tokens, attention
    of all of them to the path, and the hidden layer for all, although only the rows of ``[CLS]`` are used."""
    logits = []
    for number, question in enumerate(paths.question.tolist()):
        path = paths.states[number, : int(encoded.question_mask[question].sum())]
        states, mask = _sentences(
            tokens, question, encoded.columns[question, 1:].clamp(min=0, max=len(tokens.facts) - 1)
        )
        logits.append(_whole_layer(model, states, mask, path, features[number]))
    return torch.stack(logits).masked_fill(~paths.open, float("-inf"))


def _sentences(tokens: TokenStates, question: int, facts: Tensor) -> tuple[Tensor, Tensor]:
    """The question and the given facts, padded to the same length: ``[1 + c, t, d]``, ``[1 + c, t]``."""
    masks = (tokens.question_mask[question : question + 1], tokens.fact_mask[facts])
    states = (tokens.questions[question : question + 1], tokens.facts[facts])
    longest = max(mask.shape[1] for mask in masks)
    return (
        torch.cat([F.pad(part, (0, 0, 0, longest - part.shape[1])) for part in states]),
        torch.cat([F.pad(part, (0, longest - part.shape[1])) for part in masks]),
    )


def _whole_layer(model: BgrRetriever, states: Tensor, mask: Tensor, path: Tensor, features: Tensor) -> Tensor:
    part, match = model.fact_rows, model.matcher
    # [1 + c, r + t - 1, d]: the queries derived from [CLS], and all other tokens
    queries = torch.cat([states[:, :1] + part.seeds, states[:, 1:]], dim=1)
    seen = _attend(part.query(queries), part.key(states), part.value(states), part.heads, mask[:, None, None, :])
    rows = part.norm(queries + part.dropout(part.out(seen)))
    key, value = match.key_value(path).expand(len(rows), -1, -1).chunk(2, dim=-1)
    seen = _attend(match.query(rows), key, value, match.heads, None)
    hidden = match.of_fact(rows) + match.of_path(torch.cat([seen, match.gate(rows) * seen], dim=-1))
    summary = match.dropout(F.gelu(hidden))[:, : len(part.seeds)].flatten(1)
    return match.out(torch.cat([summary, features], dim=-1)).squeeze(-1)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, heads: int, mask: Tensor | None) -> Tensor:
    query, key, value = (states.unflatten(-1, (heads, -1)).transpose(1, 2) for states in (queries, keys, values))
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)


def padded(model: BgrRetriever, rows: Ragged) -> Tensor:
    """The encoder's states with all rows padded to the longest."""
    mask = rows.mask()
    return model.encoder.bert(input_ids=rows.padded(), attention_mask=mask.long()).last_hidden_state[mask]


class OracleRetriever:
    """A model for `decode` that does all the work of a retriever but follows the gold graphs, because an untrained
    model would follow paths that no trained one does. `steps` are parents and columns of every level after the
    first."""

    def __init__(self, model: BgrRetriever, graphs: Sequence[EvidenceGraph]) -> None:
        self.model, self.config, self.graphs = model, model.config, graphs
        self.start = model.start
        self.steps: list[tuple[Tensor, Tensor]] = []

    def extend(self, encoded: EncodedBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        self.steps.append((parents, columns))
        return self.model.extend(encoded, paths, parents, columns)

    def match(self, encoded: EncodedBatch, paths: Paths) -> Tensor:
        """Compute the model's logits and replace them by those of the gold graphs."""
        logits = self.model.match(encoded, paths)
        gold = torch.full_like(logits, -SURE)
        for row, (question, last) in enumerate(zip(paths.question.tolist(), paths.last.tolist(), strict=True)):
            fact = last - 1 if last else None
            gold[row, [node + 1 for node in next_nodes(self.graphs[question], fact, self.config.direction)]] = SURE
        return gold.masked_fill(logits.isneginf(), float("-inf"))
