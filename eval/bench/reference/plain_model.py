"""Plain definition of the model: one question, one path, one fact at a time, without padding or sharing.

Tests compare the fast implementation with it, and benchmarks measure against it. `PlainRetriever` has the interface of
`BgrRetriever`, so training loss and decoding run on either. All functions take a `BgrRetriever` for its weights.
*Shape:* the states of a sentence or path are ``[t, d]``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import Attention
from bgr.models.context import Context, ContextLayer
from bgr.models.late_interaction import LateInteraction, TokenMarks, TokenSimilarity
from bgr.models.matcher import FactRows
from bgr.models.ragged import Ragged
from bgr.models.retriever import ROOT_COLUMN, BgrRetriever, Paths


def attend(queries: Tensor, keys: Tensor, values: Tensor, heads: int) -> Tensor:
    """``softmax(Q Kᵀ / √d) V``, one head after the other. *Shape:* ``[s, d]``, ``[t, d]`` → ``[s, d]``."""
    size = queries.shape[-1] // heads
    parts = zip(queries.split(size, dim=1), keys.split(size, dim=1), values.split(size, dim=1), strict=True)
    return torch.cat([(q @ k.T / math.sqrt(size)).softmax(dim=1) @ v for q, k, v in parts], dim=1)


def attention(module: Attention, queries: Tensor, states: Tensor) -> Tensor:
    key, value = module.key_value(states).chunk(2, dim=-1)
    return module.out(attend(module.query(queries), key, value, module.heads))


def sentence(model: BgrRetriever, row: Tensor) -> Tensor:
    """States of token ids ``[t]``, or of the output of the frozen layers."""
    encoder = model.encoder
    if row.is_floating_point():
        hidden = row[None]
        for layer in encoder.bert.encoder.layer[encoder.frozen_layers :]:
            hidden = layer(hidden)
    else:
        hidden = encoder.bert(row[None]).last_hidden_state
    return model.project(hidden[0])


def summary_rows(part: FactRows, states: Tensor) -> Tensor:
    """The complete self-attention layer, with keys and values of all tokens, for the queries derived from ``[CLS]``."""
    queries = torch.stack([states[0] + seed for seed in part.seeds])
    seen = attend(part.query(queries), part.key(states), part.value(states), part.heads)
    return part.norm(queries + part.dropout(part.out(seen)))


def longer_path(model: BgrRetriever, path: Tensor, fact: Tensor) -> Tensor:
    """The state of a path after it reaches a fact."""
    part = model.update
    state = part.norms[0](path + part.dropout(attention(part.own, path, path)))
    state = part.norms[1](state + part.dropout(attention(part.fact, state, fact)))
    state = part.norms[2](state + part.dropout(part.feed(state)))
    gate = part.gate(torch.cat([path, state], dim=-1)).sigmoid()
    return part.norms[3](path + gate * state)


def matched(part: TokenSimilarity, head: int, cosine: Tensor) -> Tensor:
    return 4 * torch.sigmoid(part.sharpness[head] * (cosine.relu() - part.middle[head])) - 2


def cosines(one: Tensor, two: Tensor) -> Tensor:
    """Cosines of every token with every token. *Shape:* ``[t, s]``, ``[u, s]`` → ``[t, u]``."""
    return F.cosine_similarity(one[:, None], two[None], dim=-1)


def marks(part: TokenMarks, tokens: Tensor, question: int) -> Tensor:
    """The marks of each token: how well a fact's token is matched by the question, or a question's token by the
    facts."""
    found = []
    for head, one in enumerate(part.project(tokens).chunk(part.heads, dim=1)):
        table = cosines(one[:question], one[question:])
        best = torch.cat([table.max(1).values, table.max(0).values])
        found.append(matched(part.matched, head, best))
    return part.mark(torch.stack(found, dim=1))


def in_context(context: Context | None, question: Tensor, facts: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """The states of a question and its candidates after the context layers."""
    if context is None:
        return question, list(facts)
    sizes = [len(question), *map(len, facts)]
    kinds = [context.kind.weight[min(i, 1)] for i in range(len(sizes))]
    tokens = torch.cat([rows + kind for rows, kind in zip([question, *facts], kinds, strict=True)])
    tokens = tokens + marks(context.marks, tokens, sizes[0])
    for layer in cast(list[ContextLayer], context.layers):
        normed = layer.norms[0](tokens)
        tokens = tokens + layer.dropout(attention(layer.attention, normed, normed))
        tokens = tokens + layer.dropout(layer.feed(layer.norms[1](tokens)))
    parts = context.norm(tokens).split(sizes)
    return parts[0], list(parts[1:])


def token_features(part: LateInteraction, candidate: Tensor, other: Tensor) -> Tensor:
    """For every head and weighting: matches of the candidate's tokens, then of the other side's tokens."""
    weights, other_weights = part.fact_weight(candidate).softmax(0), part.path_weight(other).softmax(0)
    forth, back = [], []
    pairs = zip(part.fact(candidate).chunk(part.heads, dim=1), part.path(other).chunk(part.heads, dim=1), strict=True)
    for head, (one, two) in enumerate(pairs):
        table = cosines(one, two)
        forth.append(matched(part.matched, head, table.max(1).values) @ weights)
        back.append(matched(part.matched, head, table.max(0).values) @ other_weights)
    return torch.cat(forth + back)


def relevance(model: BgrRetriever, candidate: Tensor) -> Tensor:
    """Logit that a candidate is evidence. *Shape:* ``[1]``."""
    return model.relevance(summary_rows(model.fact_rows, candidate).flatten())


def logit(model: BgrRetriever, path: Tensor, last: Tensor | None, candidate: Tensor, *, is_root: bool) -> Tensor:
    """Logit that the sentence `candidate` is next after the path with state `path` and last fact `last`."""
    part = model.matcher
    rows = summary_rows(model.fact_rows, candidate)
    key, value = part.key_value(path).chunk(2, dim=-1)
    seen = attend(part.query(rows), key, value, part.heads)
    hidden = F.gelu(part.of_fact(rows) + part.of_path(torch.cat([seen, part.gate(rows) * seen], dim=-1)))
    with_path = token_features(model.to_path, candidate, path)
    none = with_path.new_zeros(model.to_last.features)
    with_last = none if last is None else token_features(model.to_last, candidate, last)
    relevant = none[:1] if is_root else model.relevance(rows.flatten())
    return part.out(torch.cat([part.dropout(hidden).flatten(), with_path, with_last, relevant])).squeeze()


@dataclass(frozen=True)
class PlainBatch:
    """Token states of each question and of its candidates, the relevance of all candidates in turn, and their
    columns."""

    questions: list[Tensor]
    facts: list[list[Tensor]]
    relevance: Tensor
    columns: Tensor


class PlainRetriever(nn.Module):
    """`encode_batch`, `start`, `extend` and `match` of `BgrRetriever`, computed with its weights for one question, path
    and fact at a time. Every sentence is encoded for each question that has it."""

    def __init__(self, model: BgrRetriever) -> None:
        super().__init__()
        self.weights = model
        self.config = model.config

    def encode_batch(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> PlainBatch:
        texts, known = (rows.flat.split(rows.lengths.tolist()) for rows in (questions, facts))
        encoded = []
        for question, row in zip(texts, candidates.tolist(), strict=True):
            states = [sentence(self.weights, known[fact]) for fact in row if fact >= 0]
            encoded.append(in_context(self.weights.context, sentence(self.weights, question), states))
        is_fact = candidates >= 0
        count, columns = int(is_fact.sum()), torch.full_like(candidates, -1)
        columns[is_fact] = torch.arange(count, device=candidates.device)
        root = count + torch.arange(len(texts), device=candidates.device)
        return PlainBatch(
            questions=[question for question, _ in encoded],
            facts=[states for _, states in encoded],
            relevance=torch.cat([relevance(self.weights, fact) for _, states in encoded for fact in states]),
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def start(self, encoded: PlainBatch) -> Paths:
        is_open = encoded.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(_padded(encoded.questions), question, torch.full_like(question, -1), is_open)

    def extend(self, encoded: PlainBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        states, questions, last, is_open = [], [], [], []
        for parent, column in zip(parents.tolist(), columns.tolist(), strict=True):
            question = int(paths.question[parent])
            path = paths.states[parent, : len(encoded.questions[question])]
            states.append(longer_path(self.weights, path, encoded.facts[question][column - 1]))
            questions.append(question)
            last.append(encoded.columns[question, column])
            may = paths.open[parent].clone()
            may[column], may[ROOT_COLUMN] = False, self.config.direction == "backward"
            is_open.append(may)
        width = paths.states.shape[1]
        return Paths(_padded(states, width), columns.new_tensor(questions), torch.stack(last), torch.stack(is_open))

    def match(self, encoded: PlainBatch, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf for columns that are not open. *Shape:* ``[p, 1 + c]``."""
        rows = []
        for number, question in enumerate(paths.question.tolist()):
            asked, facts = encoded.questions[question], encoded.facts[question]
            first, last = int(encoded.columns[question, 1]), int(paths.last[number])
            path, reached = paths.states[number, : len(asked)], None if last < 0 else facts[last - first]
            row = paths.states.new_full((paths.open.shape[1],), float("-inf"))
            for column in paths.open[number].nonzero().flatten().tolist():
                is_root = column == ROOT_COLUMN
                candidate = asked if is_root else facts[column - 1]
                row[column] = logit(self.weights, path, reached, candidate, is_root=is_root)
            rows.append(row)
        return torch.stack(rows).float()


def _padded(states: list[Tensor], length: int = 0) -> Tensor:
    """*Shape:* ``[t, d]`` each → ``[p, max(longest, length), d]``."""
    longest = max(length, *map(len, states))
    return torch.stack([F.pad(state, (0, 0, 0, longest - len(state))) for state in states])
