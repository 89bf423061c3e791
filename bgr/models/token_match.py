"""Which tokens of a sentence occur in the other sentences of the same question, and features of pairs of sentences.

Evidence hangs together by names: the film of one fact is the film of the next. Token states must learn from scratch
that the same name occurs in two sentences; a comparison of all tokens reads it directly (late interaction as in
ColBERT, arXiv:2004.12832, section 3.2). Nothing is trained through the comparison itself, so it costs no backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import Ragged, Rows, tokens_of

WAYS = 3
"""Ways in which a token is matched: by the same token, together with a neighbor by the same two tokens (a name of
several tokens), and by a similar state."""


@dataclass(frozen=True)
class Layout:
    """Where each of ``s`` sentences is: first all questions, then their facts.

    Args:
        question: ``[s]`` the question that a sentence belongs to.
        column: ``[s]`` its column: 0 for the question, ``i + 1`` for its candidate ``i``.
        shape: ``(q, n)``: questions, and columns of the widest one.
    """

    question: Tensor
    column: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, candidates: Tensor) -> Layout:
        """*Shape:* ``candidates [q, c]``, −1 where there is none."""
        count, most = candidates.shape
        question, place = (candidates >= 0).nonzero(as_tuple=True)
        asked = torch.arange(count, device=candidates.device)
        return cls(torch.cat([asked, question]), torch.cat([torch.zeros_like(asked), place + 1]), (count, most + 1))

    @property
    def slots(self) -> Tensor:
        """``[s]`` index of each sentence in a table of ``q · n``."""
        return self.question * self.shape[1] + self.column

    def spread(self, values: Tensor) -> Tensor:
        """``[s, …]`` → ``[q, n, …]``, 0 where there is no sentence."""
        table = values.new_zeros(self.shape[0] * self.shape[1], *values.shape[1:])
        return table.index_copy(0, self.slots, values).unflatten(0, self.shape)


class TokenSimilarity(nn.Module):
    """``4 σ(a (max(0, cos) − b)) − 2`` with learned ``a``, ``b``: near 2 for a similar token, else near −2.

    The range is that of the features it is combined with, so that it has an effect from the start.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(12.0))
        self.middle = nn.Parameter(torch.tensor(0.6))

    def forward(self, cosines: Tensor) -> Tensor:
        """*Shape:* any → the same."""
        return 4 * (self.sharpness * (cosines.relu() - self.middle)).sigmoid() - 2


class TokenMatch(nn.Module):
    """How well each token is matched by each sentence of its question, in `WAYS` ways, between −2 (not) and 2."""

    def __init__(self) -> None:
        super().__init__()
        self.similar = TokenSimilarity()

    def forward(self, rows: Rows, layout: Layout) -> Tensor:
        """*Shape:* ``s`` rows with states ``[total, d]`` → ``[total, WAYS, n]``. A missing sentence matches nothing."""
        question, column = (part.repeat_interleave(rows.lengths) for part in (layout.question, layout.column))
        same = occurrences(rows.ids, question, column, layout.shape[1])
        # the last token of a sentence has no next one
        goes_on = torch.ones_like(question, dtype=torch.bool).index_fill(0, rows.lengths.cumsum(0) - 1, False)
        pairs = rows.ids * (rows.ids.max() + 1) + torch.roll(rows.ids, -1)
        with_next = occurrences(pairs, question, column, layout.shape[1], goes_on)
        with_previous = torch.roll(with_next, 1, 0)
        cosines = best_cosines(rows, layout)
        found = torch.stack([same, torch.maximum(with_next, with_previous)], 1) * 4.0 - 2.0
        return torch.cat([found, self.similar(cosines)[:, None]], 1)


def occurrences(keys: Tensor, question: Tensor, column: Tensor, columns: int, valid: Tensor | None = None) -> Tensor:
    """1 where the key of a token also occurs in a sentence of its question, else 0; keys that are not `valid` occur
    nowhere. *Shape:* all ``[total]`` → ``[total, n]``."""
    own = question * (keys.max() + 1) + keys  # the same key in two questions is two keys
    _, number = torch.unique(own, return_inverse=True)
    table = torch.zeros(int(number.max()) + 1, columns, device=keys.device)
    if valid is None:
        table[number, column] = 1.0
        return table[number]
    table[number[valid], column[valid]] = 1.0
    return table[number] * valid[:, None]


@torch.no_grad()
def best_cosines(rows: Rows, layout: Layout) -> Tensor:
    """The largest cosine of each token's state with those of each sentence of its question, 0 if all are negative or
    there is no sentence. *Shape:* → ``[total, n]``."""
    unit = Ragged(F.normalize(rows.flat.float(), dim=-1), rows.lengths)
    # the longest first within each question, so that those that have a token at a position are the first ones
    order = torch.argsort(rows.lengths, descending=True, stable=True)
    order = order[torch.argsort(layout.question[order], stable=True)]
    counts = torch.bincount(layout.question, minlength=layout.shape[0]).tolist()
    table = unit.flat.new_zeros(len(unit.flat), layout.shape[1])
    with torch.autocast(table.device.type, enabled=False):  # cosines near 1 are told apart, in mixed precision too
        for sentences in order.split(counts):
            tokens = tokens_of(unit.starts[sentences], unit.lengths[sentences])
            best = _best_of_one(Ragged(unit.flat[tokens], unit.lengths[sentences])).clamp(min=0)
            table[tokens[:, None], layout.column[sentences]] = best
    return table


def _best_of_one(unit: Ragged) -> Tensor:
    """The largest inner product of each token with those of each sentence, the longest sentence first.
    *Shape:* ``[t, d]`` → ``[t, s]``."""
    position = tokens_of(torch.zeros_like(unit.lengths), unit.lengths)
    # all first tokens, then all second ones …: what is compared are two adjacent blocks, without padding
    products = unit.flat[torch.argsort(position, stable=True)] @ unit.flat.T
    first, *others = products.split(torch.bincount(position).tolist())
    for block in others:
        torch.maximum(first[: len(block)], block, out=first[: len(block)])
    return first.T


class TokenMarks(nn.Module):
    """Marks every token by whether it is matched on the other side: a fact's token by the question, a question's token
    by any of its facts. A single layer of attention can then look for *the facts that the question names*."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.mark = nn.Linear(WAYS, width, bias=False)
        nn.init.normal_(self.mark.weight, std=0.5)

    def forward(self, matches: Tensor, lengths: Tensor, layout: Layout) -> Tensor:
        """*Shape:* ``matches [total, WAYS, n]``, ``lengths [s]`` → marks to add to the states ``[total, d]``."""
        asked = int(lengths[: layout.shape[0]].sum())
        return self.mark(torch.cat([matches[:asked, :, 1:].amax(-1), matches[asked:, :, 0]]))


class Links(nn.Module):
    """Features of every ordered pair of sentences of a question: how well the tokens of each are matched by the other.

    ``k`` learned weightings average the matches over a sentence: one may look at names, another at the words of the
    relation.
    """

    def __init__(self, *, width: int, weightings: int) -> None:
        super().__init__()
        # a bias would add the same value to the scores of all tokens
        self.weight = nn.Linear(width, weightings, bias=False)
        self.features = 2 * WAYS * weightings

    def forward(self, rows: Ragged, matches: Tensor, layout: Layout) -> Tensor:
        """*Shape:* ``s`` rows of states, ``matches [total, WAYS, n]`` → ``[q, n, n, features]``, 0 where there is no
        sentence."""
        weights = replace(rows, flat=self.weight(rows.flat)).padded(float("-inf")).softmax(1)  # [s, t, k]
        table = Ragged(matches.flatten(1), rows.lengths).padded()  # [s, t, WAYS · n]
        forth = (weights.transpose(1, 2) @ table).unflatten(-1, (WAYS, -1)).permute(0, 3, 1, 2).flatten(2)
        forth = layout.spread(forth)
        return torch.cat([forth, forth.transpose(1, 2)], -1)
