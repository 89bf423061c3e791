"""From texts to a batch: every distinct sentence is tokenized once and occurs in a batch once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bgr.models.encoder import SentenceStates
from bgr.models.numbers import token_numbers
from bgr.models.ragged import Rows, StoredRows
from bgr.models.truncation import Truncation, token_spans, tokenize
from bgr.utils.quantities import has_quantity


@dataclass(frozen=True)
class Batch:
    """The input of `BgrRetriever.encode_batch`: token ids, or cached lower states, of ``q`` questions and of the ``f``
    distinct facts of the batch, and ``candidates [q, c]``, each question's facts as indices into ``facts``, padded with
    −1."""

    questions: Rows
    facts: Rows
    candidates: Tensor

    def to(self, *args: Any, **kwargs: Any) -> Batch:
        questions, facts = (rows.to(*args, **kwargs) for rows in (self.questions, self.facts))
        return Batch(questions, facts, self.candidates.to(*args, **kwargs))

    def keep(self, columns: Tensor) -> Batch:
        """Only some candidates of each question, and no fact that is nobody's candidate. *Shape:* ``columns [q, k]``
        indices of candidates, padded with −1."""
        kept = self.candidates.gather(1, columns.clamp(min=0)).masked_fill(columns < 0, -1)
        used, number = torch.unique(kept[kept >= 0], return_inverse=True)
        candidates = kept.clone()
        candidates[kept >= 0] = number
        return Batch(self.questions, self.facts.select(used), candidates)


class Sentences:
    """Distinct texts and their token ids, or `states` of the encoder in their place.

    Duplicates among the texts are allowed; a text of more than `max_tokens` is truncated and listed in `truncated`.
    """

    def __init__(self, texts: Iterable[str], tokenizer: Any, *, max_tokens: int) -> None:
        self.number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        distinct = list(self.number)
        rows, cut = tokenize(tokenizer, distinct, max_tokens)
        self.rows = replace(Rows.from_lists(rows), numbers=_numbers(tokenizer, distinct, rows, max_tokens))
        self.states: StoredRows | None = None
        self.truncated = frozenset(distinct[number] for number in cut)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def truncation(self) -> Truncation:
        return Truncation(len(self.truncated), len(self))

    def take(self, numbers: Sequence[int], *, states: bool = True) -> Rows:
        """The given sentences; states are converted to float32. Without `states` as token ids."""
        chosen = torch.as_tensor(numbers, dtype=torch.long)
        rows = self.rows.select(chosen)
        return rows if self.states is None or not states else self.states.select(chosen, rows).to(dtype=torch.float32)

    def lower(self, encoder: SentenceStates, needed: Set[str] | None = None) -> None:
        """Give the sentences, or only those that are `needed`, the states of the encoder's frozen layers."""
        if not encoder.frozen_layers:
            return
        chosen = [number for text, number in self.number.items() if needed is None or text in needed]
        numbers = torch.tensor(chosen, dtype=torch.long)
        rows = encoder.lower(self.rows.select(numbers).to(encoder.bert.device)).to("cpu")
        starts = torch.zeros_like(self.rows.lengths).index_copy(0, numbers, rows.starts)
        self.states = StoredRows(rows.flat, starts, self.rows.lengths)


def _numbers(tokenizer: Any, texts: Sequence[str], rows: Sequence[Sequence[int]], max_tokens: int) -> Tensor:
    """The number that each token is a part of, for the tokens `rows` of the texts. *Shape:* ``[total]``."""
    found = [[math.nan] * len(row) for row in rows]
    having = [number for number, text in enumerate(texts) if has_quantity(text)]
    if having:
        read = token_spans(tokenizer, [texts[number] for number in having], max_tokens)
        for number, spans in zip(having, read, strict=True):
            found[number] = token_numbers(texts[number], spans)
    return torch.tensor([value for row in found for value in row], dtype=torch.float32)


def make_batch(
    questions: Sentences, facts: Sentences, samples: Sequence[tuple[str, Sequence[str]]], *, states: bool = True
) -> Batch:
    """Build a batch of ``(question, candidate facts)``, without `states` of token ids. A fact that several questions
    share occurs once."""
    index: dict[int, int] = {}
    widest = max(len(candidates) for _, candidates in samples)
    table = torch.full((len(samples), widest), -1, dtype=torch.long)
    for row, (_, candidates) in enumerate(samples):
        numbers = [facts.number[text] for text in candidates]
        table[row, : len(numbers)] = torch.tensor([index.setdefault(n, len(index)) for n in numbers], dtype=torch.long)
    asked = [questions.number[text] for text, _ in samples]
    return Batch(questions.take(asked, states=states), facts.take(list(index), states=states), table)
