"""Plain definition of the model: one question, one path, one fact at a time, without padding or sharing.

Tests compare the fast implementation with it, and benchmarks measure against it. `PlainRetriever` has the interface of
`BgrRetriever`, so training loss and decoding run on either. All functions take a `BgrRetriever` for its weights.
*Shape:* the states of a sentence or path are ``[t, d]``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import Attention
from bgr.models.context import ContextLayer
from bgr.models.matcher import FactRows
from bgr.models.numbers import NumberMarks
from bgr.models.ragged import Rows
from bgr.models.retriever import ROOT_COLUMN, BgrRetriever, Paths
from bgr.models.token_match import TokenSimilarity


def attend(queries: Tensor, keys: Tensor, values: Tensor, heads: int) -> Tensor:
    """``softmax(Q Kᵀ / √d) V``, one head after the other. *Shape:* ``[s, d]``, ``[t, d]`` → ``[s, d]``."""
    size = queries.shape[-1] // heads
    parts = zip(queries.split(size, dim=1), keys.split(size, dim=1), values.split(size, dim=1), strict=True)
    return torch.cat([(q @ k.T / math.sqrt(size)).softmax(dim=1) @ v for q, k, v in parts], dim=1)


def attention(module: Attention, queries: Tensor, states: Tensor) -> Tensor:
    key, value = module.key_value(states).chunk(2, dim=-1)
    return module.out(attend(module.query(queries), key, value, module.heads))


class Sentence(NamedTuple):
    """One sentence: ``states [t, d]`` of its tokens, their ``ids``, and the ``numbers`` that they belong to."""

    states: Tensor
    ids: list[int]
    numbers: list[float]


def sentence(model: BgrRetriever, rows: Rows, number: int) -> Sentence:
    """A sentence of a batch, from its token ids or from the output of the frozen layers."""
    start = sum(rows.lengths[:number].tolist())
    tokens = slice(start, start + int(rows.lengths[number]))
    row, ids, encoder = rows.flat[tokens], rows.ids[tokens], model.encoder
    if row.is_floating_point():
        hidden = row[None]
        for layer in encoder.bert.encoder.layer[encoder.frozen_layers :]:
            hidden = layer(hidden)
    else:
        hidden = encoder.bert(row[None]).last_hidden_state
    states = model.project.states(hidden[0])
    if model.project.words is not None:
        embeddings = encoder.bert.embeddings.word_embeddings(ids)
        states = states + model.project.words(F.layer_norm(embeddings, embeddings.shape[-1:]))
    return Sentence(model.project.norm(states), ids.tolist(), rows.numbers[tokens].tolist())


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


def matched(part: TokenSimilarity, cosine: Tensor) -> Tensor:
    return 4 * torch.sigmoid(part.sharpness * (cosine.relu() - part.middle)) - 2


def matches(part: TokenSimilarity, one: Sentence, other: Sentence) -> Tensor:
    """How well each token of a sentence is matched by another one, in every way: ``[t, WAYS]``."""
    known = set(other.ids)
    pairs = set(itertools.pairwise(other.ids))
    rows = []
    for place, (state, id) in enumerate(zip(one.states, one.ids, strict=True)):
        around = [one.ids[place - 1 : place + 1] if place else [], one.ids[place : place + 2]]
        cosine = max(torch.cosine_similarity(state, token, dim=0) for token in other.states)
        exact = (id in known, any(tuple(pair) in pairs for pair in around))
        rows.append(
            torch.stack([*(torch.tensor(4.0 * found - 2.0) for found in exact), matched(part, cosine.detach())])
        )
    return torch.stack(rows)


def links(model: BgrRetriever, sentences: Sequence[Sentence]) -> Tensor | None:
    """Features of every ordered pair of sentences ``[n, n, e]``."""
    if model.links is None or model.match_tokens is None:
        return None
    weighting, similar, count = model.links.weight, model.match_tokens.similar, len(sentences)
    forth = [
        [(weighting(one.states).softmax(0).T @ matches(similar, one, other)).flatten() for other in sentences]
        for one in sentences
    ]
    return torch.stack(
        [torch.stack([torch.cat([forth[i][j], forth[j][i]]) for j in range(count)]) for i in range(count)]
    )


def mark(model: BgrRetriever, sentences: Sequence[Sentence]) -> list[Tensor]:
    """The states of all sentences with the marks of matched tokens, of numbers and of the kind of sentence."""
    question, facts = sentences[0], sentences[1:]
    states = [one.states for one in sentences]
    if model.marks is not None and model.match_tokens is not None:
        similar = model.match_tokens.similar
        of_facts = torch.stack([matches(similar, question, fact) for fact in facts]).amax(0)
        found = [of_facts, *(matches(similar, fact, question) for fact in facts)]
        states = [state + model.marks.mark(one) for state, one in zip(states, found, strict=True)]
    if model.numbers is not None:
        states = [state + one for state, one in zip(states, number_marks(model.numbers, sentences), strict=True)]
    if model.kind is not None:
        states = [state + model.kind[min(i, 1)] for i, state in enumerate(states)]
    return states


def number_marks(part: NumberMarks, sentences: Sequence[Sentence]) -> list[Tensor]:
    """Marks for the numbers of a question and of its facts."""
    known: list[float] = []
    marks = [[] for _ in sentences]  # type: list[list[Tensor]]
    none, before = torch.zeros_like(part.of_question[0]), math.nan
    for number in sentences[0].numbers:
        if not math.isnan(number) and number != before:
            known.append(number)
        chosen = not math.isnan(number) and len(known) <= part.most
        marks[0].append(part.of_question[len(known) - 1] if chosen else none)
        before = number
    for fact, row in zip(sentences[1:], marks[1:], strict=True):
        for number in fact.numbers:
            total = none
            for place, other in enumerate(known[: part.most]):
                if not math.isnan(number):
                    total = total + part.of_fact[3 * place + 1 + order(number, other)]
            row.append(total)
    return [torch.stack(row) for row in marks]


def order(number: float, other: float) -> int:
    """−1, 0 or 1: less, equal, greater; a year equals all dates in it."""
    years = [value == math.floor(value) and 1000 <= value <= 2100 for value in (number, other)]
    if any(years) and all(1000 <= value < 2101 for value in (number, other)):
        number, other = math.floor(number), math.floor(other)
    return 0 if abs(number - other) <= 1e-6 * abs(other) else (1 if number > other else -1)


def in_context(model: BgrRetriever, question: Tensor, rows: Sequence[Tensor], pairs: Tensor | None) -> list[Tensor]:
    """The question's tokens and the rows of all facts after the context layers."""
    assert model.context is not None
    parts = [question, *rows]
    sizes = [len(part) for part in parts]
    column = [number for number, size in enumerate(sizes) for _ in range(size)]
    states = torch.cat(parts)
    for layer in cast(list[ContextLayer], model.context.layers):
        normed, part = layer.norms[0](states), layer.attention
        key, value = part.key_value(normed).chunk(2, dim=-1)
        size, seen = normed.shape[1] // part.heads, []
        heads = zip(part.query(normed).split(size, 1), key.split(size, 1), value.split(size, 1), strict=True)
        for head, (q, k, v) in enumerate(heads):
            scores = q @ k.T / math.sqrt(size)
            if layer.bias is not None and pairs is not None:
                scores = scores + layer.bias(pairs)[column][:, column][..., head]
            seen.append(scores.softmax(1) @ v)
        states = states + layer.dropout(part.out(torch.cat(seen, 1)))
        states = states + layer.dropout(layer.feed(layer.norms[1](states)))
    return list(model.context.norm(states).split(sizes))


def completeness(model: BgrRetriever, question: Tensor, rows: Sequence[Tensor], relevance: Tensor) -> Tensor:
    """Logit that the evidence of a question is complete."""
    assert model.completeness is not None
    chances = relevance.sigmoid()
    seen = sum(chance * row.mean(0) for chance, row in zip(chances, rows, strict=True)) / (chances.sum() + 0.1)
    features = torch.cat([question.mean(0), seen, torch.stack([relevance.max(), chances.sum()]) / 4])
    found: Tensor = model.completeness.out(features)[0]
    return found


@dataclass(frozen=True)
class PlainQuestion:
    """An encoded question: the states of its tokens, of each fact for path updates, the summary rows of the question
    and of each fact, their relevance, links and completeness."""

    states: Tensor
    facts: list[Tensor]
    rows: list[Tensor]
    relevance: Tensor | None
    links: Tensor | None
    completeness: Tensor | None


def encode(model: BgrRetriever, sentences: Sequence[Sentence]) -> PlainQuestion:
    """A question and its candidates."""
    pairs, marked = links(model, sentences), mark(model, sentences)
    rows = [summary_rows(model.fact_rows, states) for states in marked]
    question, facts = marked[0], marked[1:]
    if model.context is not None:
        question, *facts = in_context(model, question, rows[1:], pairs)
        rows = [rows[0], *facts]
    relevance, complete = None, None
    if model.relevance is not None:
        relevance = torch.cat([model.relevance(one.flatten()) for one in rows[1:]])
        if model.completeness is not None:
            complete = completeness(model, question, rows[1:], relevance)
    return PlainQuestion(question, facts, rows, relevance, pairs, complete)


def logit(model: BgrRetriever, path: Tensor, last: int, column: int, encoded: PlainQuestion) -> Tensor:
    """Logit that the sentence of `column` is next after the path with state `path`, whose last one is in column
    `last`."""
    part, rows = model.matcher, encoded.rows[column]
    key, value = part.key_value(path).chunk(2, dim=-1)
    seen = attend(part.query(rows), key, value, part.heads)
    hidden = F.gelu(part.of_fact(rows) + part.of_path(torch.cat([seen, part.gate(rows) * seen], dim=-1)))
    features = [part.dropout(hidden).flatten()]
    if encoded.links is not None:
        features.append(encoded.links[last, column])
    if encoded.relevance is not None:
        features.append(encoded.relevance[column - 1 : column] if column else torch.zeros(1))
    return part.out(torch.cat(features)).squeeze()


@dataclass(frozen=True)
class PlainBatch:
    """The questions of a batch, the relevance of all candidates in turn, the completeness of all questions, and the
    columns."""

    questions: list[PlainQuestion]
    relevance: Tensor | None
    completeness: Tensor | None
    columns: Tensor


class PlainRetriever(nn.Module):
    """`encode_batch`, `start`, `extend` and `match` of `BgrRetriever`, computed with its weights for one question, path
    and fact at a time. Every sentence is encoded for each question that has it."""

    def __init__(self, model: BgrRetriever) -> None:
        super().__init__()
        self.weights = model
        self.config = model.config

    def encode_batch(self, questions: Rows, facts: Rows, candidates: Tensor) -> PlainBatch:
        encoded = []
        for number, row in enumerate(candidates.tolist()):
            told = [sentence(self.weights, facts, fact) for fact in row if fact >= 0]
            encoded.append(encode(self.weights, [sentence(self.weights, questions, number), *told]))
        is_fact = candidates >= 0
        count, columns = int(is_fact.sum()), torch.full_like(candidates, -1)
        columns[is_fact] = torch.arange(count, device=candidates.device)
        root = count + torch.arange(len(encoded), device=candidates.device)
        return PlainBatch(
            questions=encoded,
            relevance=_all(torch.cat, [one.relevance for one in encoded]),
            completeness=_all(torch.stack, [one.completeness for one in encoded]),
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def start(self, encoded: PlainBatch) -> Paths:
        is_open = encoded.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(_padded([one.states for one in encoded.questions]), question, torch.zeros_like(question), is_open)

    def extend(self, encoded: PlainBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        states, questions, is_open = [], [], []
        for parent, column in zip(parents.tolist(), columns.tolist(), strict=True):
            question = int(paths.question[parent])
            asked = encoded.questions[question]
            path = paths.states[parent, : len(asked.states)]
            states.append(longer_path(self.weights, path, asked.facts[column - 1]))
            questions.append(question)
            may = paths.open[parent].clone()
            may[column], may[ROOT_COLUMN] = False, self.config.direction == "backward"
            is_open.append(may)
        width = paths.states.shape[1]
        return Paths(_padded(states, width), columns.new_tensor(questions), columns, torch.stack(is_open))

    def match(self, encoded: PlainBatch, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf for columns that are not open. *Shape:* ``[p, 1 + c]``."""
        rows = []
        for number, question in enumerate(paths.question.tolist()):
            asked = encoded.questions[question]
            path, last = paths.states[number, : len(asked.states)], int(paths.last[number])
            row = paths.states.new_full((paths.open.shape[1],), float("-inf"))
            for column in paths.open[number].nonzero().flatten().tolist():
                row[column] = logit(self.weights, path, last, column, asked)
            rows.append(row)
        return torch.stack(rows).float()


def _all(join: Callable[[list[Tensor]], Tensor], parts: Sequence[Tensor | None]) -> Tensor | None:
    known = [part for part in parts if part is not None]
    return join(known) if known else None


def _padded(states: list[Tensor], length: int = 0) -> Tensor:
    """*Shape:* ``[t, d]`` each → ``[p, max(longest, length), d]``."""
    longest = max(length, *map(len, states))
    return torch.stack([F.pad(state, (0, 0, 0, longest - len(state))) for state in states])
