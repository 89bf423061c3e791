"""Rows of unequal length as flat tensors, and their padding.

Legend of dimensions, the same in every file of `bgr.models`:
``q`` questions in the batch, ``f`` facts in the batch, ``c`` candidates of one question, ``p`` active paths,
``t`` tokens, ``d`` width, ``r`` summary rows of a fact, ``h`` hops, ``n = 1 + c`` sentences of one question: the
question in column 0, candidate ``i`` in column ``i + 1``.

The arguments `width` (``d``), `heads` (of attention) and `dropout` (a probability) mean the same in every module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Ragged:
    """Rows of unequal length, concatenated: ``flat [total, …]`` has the token ids or token states of all rows, and
    ``lengths [s]`` the number of tokens of each row."""

    flat: Tensor
    lengths: Tensor

    of_tokens: ClassVar[tuple[str, ...]] = ("flat",)
    """The fields with one entry for each token."""

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Self:
        return cls(
            torch.tensor([token for row in rows for token in row], dtype=torch.long),
            torch.tensor([len(row) for row in rows], dtype=torch.long),
        )

    @property
    def starts(self) -> Tensor:
        """``[s]`` index of the first token of each row in `flat`."""
        return self.lengths.cumsum(0) - self.lengths

    def mask(self) -> Tensor:
        """``[s, t]`` bool, true at tokens; ``t`` is the length of the longest row."""
        longest = int(self.lengths.max()) if len(self) else 0
        return torch.arange(longest, device=self.lengths.device) < self.lengths[:, None]

    def padded(self, fill: float = 0.0) -> Tensor:
        """``[s, t, …]`` with `fill` after the end of each row; ``padded()[mask()]`` equals `flat`.

        Rows of 2 and 3 tokens: ``flat = [a b c d e]`` becomes ``[[a b 0] [c d e]]``.
        """
        mask = self.mask()
        # padding is one more entry after the last token
        indices = (self.starts[:, None] + torch.arange(mask.shape[1], device=mask.device)).where(mask, len(self.flat))
        return take(torch.cat([self.flat, self.flat.new_full((1, *self.flat.shape[1:]), fill)]), indices)

    def select(self, rows: Tensor) -> Self:
        """The given rows in the given order; a row may be repeated."""
        lengths = self.lengths[rows]
        tokens = tokens_of(self.starts[rows], lengths)
        return replace(self, lengths=lengths, **self._each(lambda one: take(one, tokens)))

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move all tensors to a device; ``dtype=`` applies to `flat` only."""
        dtype = kwargs.pop("dtype", None)
        moved = self._each(lambda one: one.to(*args, **kwargs))
        if dtype is not None:
            moved["flat"] = moved["flat"].to(dtype=dtype)
        return replace(self, lengths=self.lengths.to(*args, **kwargs), **moved)

    def _each(self, change: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
        """The changed tensors of tokens by their names; one that is two of them, as token ids are, is changed once."""
        found: dict[int, Tensor] = {}
        for one in (getattr(self, name) for name in self.of_tokens):
            if id(one) not in found:
                found[id(one)] = change(one)
        return {name: found[id(getattr(self, name))] for name in self.of_tokens}


@dataclass(frozen=True)
class Rows(Ragged):
    """Sentences: `flat` has their token ids or token states. ``ids [total]`` always has the ids, and ``numbers
    [total]`` the number that each token is a part of, NaN for other tokens (`bgr.models.numbers`)."""

    ids: Tensor
    numbers: Tensor

    of_tokens: ClassVar[tuple[str, ...]] = ("flat", "ids", "numbers")

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Self:
        """Sentences of token ids, without numbers."""
        ids = Ragged.from_lists(rows)
        return cls(ids.flat, ids.lengths, ids.flat, torch.full(ids.flat.shape, float("nan")))

    @classmethod
    def cat(cls, parts: Sequence[Rows]) -> Self:
        """All rows of several groups."""
        return cls(*(torch.cat([getattr(part, one.name) for part in parts]) for one in fields(cls)))


class EncodedRows(Rows):
    """Sentences with their states after encoder and projection, the result of `BgrRetriever.encode`."""


@dataclass(frozen=True)
class StoredRows:
    """States of rows anywhere in a large table: ``table [total, …]``, ``starts [s]``, ``lengths [s]``."""

    table: Tensor
    starts: Tensor
    lengths: Tensor
    kind: type[Rows] = Rows

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, rows: Tensor, texts: Rows) -> Rows:
        """The given rows in the given order as a `kind`, where `texts` has their ids and numbers."""
        states = take(self.table, tokens_of(self.starts[rows], self.lengths[rows]))
        return self.kind(states, texts.lengths, texts.ids, texts.numbers)


def tokens_of(starts: Tensor, lengths: Tensor) -> Tensor:
    """Index of every token of rows in their source: the start of its row plus its position in the row."""
    within = torch.arange(int(lengths.sum()), device=lengths.device)
    within -= (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return starts.repeat_interleave(lengths) + within


def take(table: Tensor, rows: Tensor) -> Tensor:
    """``table[rows]``, computed as an embedding lookup: for floats several times as fast, also in the backward pass.

    *Shape:* ``table [s, …]``, ``rows`` of any shape → ``[*rows, …]``.
    """
    if table.is_floating_point() and table.dim() > 1:
        return F.embedding(rows, table.flatten(1)).unflatten(-1, table.shape[1:])
    return table[rows]


def length_buckets(lengths: Tensor, *, waste: float = 0.1, max_tokens: int = 4_096) -> list[Tensor]:
    """Group rows of similar length, so that padding a group costs little.

    Rows are sorted by length. A group ends if the next row would make the share of padding exceed `waste` or the padded
    size exceed `max_tokens`. Every row is in exactly one group.

    *Shape:* ``lengths [s]`` → groups ``[s_i]``.
    """
    order = torch.argsort(lengths, stable=True)
    groups, start, real = [], 0, 0
    for end, size in enumerate(lengths[order].tolist()):
        padded = (end - start + 1) * size
        if end > start and (padded > max_tokens or real + size < (1 - waste) * padded):
            groups.append(order[start:end])
            start, real = end, 0
        real += size
    groups.append(order[start:])
    return [group for group in groups if len(group)]
