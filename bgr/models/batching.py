"""From texts to a batch: every different sentence is tokenised once, and stands in a batch once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bgr.models.ragged import Ragged


@dataclass(frozen=True)
class Batch:
    """What `BgrRetriever.read` takes.

    Args:
        questions: token ids, or kept lower states, of ``q`` questions.
        facts: likewise of the ``f`` different facts of the batch.
        candidates: ``[q, c]`` each question's facts as numbers into ``facts``, −1 behind the last.
    """

    questions: Ragged
    facts: Ragged
    candidates: Tensor

    def to(self, *args: Any, **kwargs: Any) -> Batch:
        return Batch(
            self.questions.to(*args, **kwargs), self.facts.to(*args, **kwargs), self.candidates.to(*args, **kwargs)
        )


class Sentences:
    """Different texts and their token ids; states of the encoder's frozen layers may take the ids' place.

    Args:
        texts: any number, repetitions allowed.
        tokenizer: a `transformers` tokenizer.
        most_tokens: longer sentences are cut off there.
    """

    def __init__(self, texts: Iterable[str], tokenizer: Any, *, most_tokens: int) -> None:
        self.number = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        self.rows = Ragged.from_lists(
            tokenizer(list(self.number), truncation=True, max_length=most_tokens)["input_ids"] if self.number else []
        )

    def __len__(self) -> int:
        return len(self.number)

    def take(self, numbers: Sequence[int]) -> Ragged:
        """The given sentences; states come as float32 whatever they are kept in."""
        rows = self.rows.select(torch.as_tensor(numbers, dtype=torch.long))
        return rows.to(dtype=torch.float32) if rows.flat.is_floating_point() else rows


def make_batch(questions: Sentences, facts: Sentences, samples: Sequence[tuple[str, Sequence[str]]]) -> Batch:
    """A batch of ``(question, candidate facts)``; a fact that several questions share is taken once."""
    place: dict[int, int] = {}
    widest = max(len(candidates) for _, candidates in samples)
    table = torch.full((len(samples), widest), -1, dtype=torch.long)
    for row, (_, candidates) in enumerate(samples):
        numbers = [facts.number[text] for text in candidates]
        table[row, : len(numbers)] = torch.tensor([place.setdefault(n, len(place)) for n in numbers], dtype=torch.long)
    return Batch(questions.take([questions.number[text] for text, _ in samples]), facts.take(list(place)), table)
