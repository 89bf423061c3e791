"""Sentences of unequal length as flat tensors, and the one place where they are padded.

Legend of dimensions, the same in every file of `bgr.models`:
``q`` questions in the batch, ``f`` facts in the batch, ``c`` candidates of one question, ``p`` paths alive,
``t`` tokens, ``d`` width, ``r`` summary rows of a fact, ``h`` hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Ragged:
    """Rows of unequal length laid end to end.

    Args:
        flat: ``[total, …]`` token ids or token states of all rows.
        lengths: ``[s]`` tokens of each row; they add up to ``total``.
    """

    flat: Tensor
    lengths: Tensor

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def from_lists(cls, rows: Sequence[Sequence[int]]) -> Ragged:
        return cls(
            torch.tensor([token for row in rows for token in row], dtype=torch.long),
            torch.tensor([len(row) for row in rows], dtype=torch.long),
        )

    @property
    def starts(self) -> Tensor:
        """``[s]`` place of each row's first token in `flat`."""
        return self.lengths.cumsum(0) - self.lengths

    def mask(self) -> Tensor:
        """``[s, t]`` bool, true where a row has a token; ``t`` is the longest row."""
        longest = int(self.lengths.max()) if len(self) else 0
        return torch.arange(longest, device=self.lengths.device)[None, :] < self.lengths[:, None]

    def padded(self, fill: float = 0.0) -> Tensor:
        """``[s, t, …]`` with `fill` behind each row's end; ``padded()[mask()]`` is `flat` again.

        Rows of 2 and 3 tokens: ``flat = [a b c d e]`` becomes ``[[a b 0] [c d e]]``.
        """
        mask = self.mask()
        # padding is one more row behind the last
        places = (self.starts[:, None] + torch.arange(mask.shape[1], device=mask.device)).where(mask, len(self.flat))
        return take(torch.cat([self.flat, self.flat.new_full((1, *self.flat.shape[1:]), fill)]), places)

    def select(self, rows: Tensor) -> Self:
        """The given rows, in the given order (repetition allowed)."""
        lengths = self.lengths[rows]
        total = int(lengths.sum())
        # place in the source of every token kept: its row's start, plus its place within the row
        within = torch.arange(total, device=lengths.device) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        places = self.starts[rows].repeat_interleave(lengths) + within
        return replace(self, flat=take(self.flat, places), lengths=lengths)

    def to(self, *args: object, **kwargs: object) -> Self:
        """Moved to a device (both tensors); `flat` alone takes a dtype given as ``dtype=``."""
        dtype = kwargs.pop("dtype", None)
        flat = self.flat.to(*args, **kwargs)  # type: ignore[call-overload]
        if dtype is not None:
            flat = flat.to(dtype=dtype)
        return replace(self, flat=flat, lengths=self.lengths.to(*args, **kwargs))  # type: ignore[call-overload]


class Encoded(Ragged):
    """Token states behind encoder and projection, as `BgrRetriever.encode` gives them."""


def take(table: Tensor, rows: Tensor) -> Tensor:
    """``table[rows]``; for rows of real numbers several times as fast, and its gradient too.

    *Shape:* ``table [s, …]``, ``rows`` of any shape → ``[*rows, …]``.
    """
    if table.is_floating_point() and table.dim() > 1:
        return F.embedding(rows, table.flatten(1)).unflatten(-1, table.shape[1:])
    return table[rows]


def length_buckets(lengths: Tensor, *, waste: float = 0.1, most_tokens: int = 4_096) -> list[Tensor]:
    """Groups of row numbers of nearly equal length, so that padding a group costs little.

    Rows are sorted by length; a group ends where taking the next row would make more than `waste` of the padded group
    padding, or more than `most_tokens` tokens. Every row is in exactly one group.

    *Shape:* ``lengths [s]`` → groups ``[s_i]``.
    """
    order = torch.argsort(lengths, stable=True)
    groups, start, real = [], 0, 0
    sizes = lengths[order].tolist()
    for end, size in enumerate(sizes):
        padded = (end - start + 1) * size
        if end > start and (padded > most_tokens or real + size < (1 - waste) * padded):
            groups.append(order[start:end])
            start, real = end, 0
        real += size
    groups.append(order[start:])
    return [group for group in groups if len(group)]
