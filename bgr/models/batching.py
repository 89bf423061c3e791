"""From texts to a batch: every distinct sentence is tokenized once and occurs in a batch once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bgr.models.ragged import Ragged, StoredRows
from bgr.models.truncation import Truncation, tokenize


@dataclass(frozen=True)
class Batch:
    """The input of `BgrRetriever.encode_batch`: token ids, or cached lower states, of ``q`` questions and of the ``f``
    distinct facts of the batch, and ``candidates [q, c]``, each question's facts as indices into ``facts``, padded with
    −1."""

    questions: Ragged
    facts: Ragged
    candidates: Tensor

    def to(self, *args: Any, **kwargs: Any) -> Batch:
        questions, facts = (rows.to(*args, **kwargs) for rows in (self.questions, self.facts))
        return Batch(questions, facts, self.candidates.to(*args, **kwargs))


class Sentences:
    """Distinct texts and their token ids, or `states` of the encoder in their place.

    Duplicates among the texts are allowed; a text of more than `max_tokens` is truncated and listed in `truncated`.
    """

    def __init__(self, texts: Iterable[str], tokenizer: Any, *, max_tokens: int) -> None:
        self.number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        distinct = list(self.number)
        rows, cut = tokenize(tokenizer, distinct, max_tokens)
        self.rows = Ragged.from_lists(rows)
        self.states: StoredRows | None = None
        self.truncated = frozenset(distinct[number] for number in cut)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def truncation(self) -> Truncation:
        return Truncation(len(self.truncated), len(self))

    def take(self, numbers: Sequence[int]) -> Ragged:
        """The given sentences; states are converted to float32."""
        source = self.rows if self.states is None else self.states
        rows = source.select(torch.as_tensor(numbers, dtype=torch.long))
        return rows.to(dtype=torch.float32) if rows.flat.is_floating_point() else rows


def make_batch(questions: Sentences, facts: Sentences, samples: Sequence[tuple[str, Sequence[str]]]) -> Batch:
    """Build a batch of ``(question, candidate facts)``. A fact that several questions share occurs once."""
    index: dict[int, int] = {}
    widest = max(len(candidates) for _, candidates in samples)
    table = torch.full((len(samples), widest), -1, dtype=torch.long)
    for row, (_, candidates) in enumerate(samples):
        numbers = [facts.number[text] for text in candidates]
        table[row, : len(numbers)] = torch.tensor([index.setdefault(n, len(index)) for n in numbers], dtype=torch.long)
    return Batch(questions.take([questions.number[text] for text, _ in samples]), facts.take(list(index)), table)
