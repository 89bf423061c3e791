"""Numbers in questions and facts, and how they compare.

"Under 90 minutes" asks for a comparison that token states cannot make: a frozen encoder reads "102" as a word. Here the
numbers are read from the text, and every number of a fact is marked with whether it is less than, equal to or greater
than each number of the question. What a comparison means for the question remains to be learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import Rows
from bgr.utils.quantities import scaled_quantities

YEARS = (1000, 2100)
"""Whole numbers in this range are compared as years: a date lies *in* its year."""

TOLERANCE = 1e-6
"""Relative difference up to which two numbers are equal."""


def token_numbers(text: str, spans: Sequence[tuple[int, int]]) -> list[float]:
    """The number that each token is a part of, NaN for other tokens; ``1.5 million`` is 1,500,000, and a date is its
    year with the day as a fraction (`bgr.utils.quantities`). `spans` are the characters of each token."""
    found = [math.nan] * len(spans)
    for quantity in scaled_quantities(text):
        for token, (start, end) in enumerate(spans):
            if start < end and start < quantity.end and end > quantity.start:
                found[token] = quantity.size
    return found


def compare(numbers: Tensor, others: Tensor) -> Tensor:
    """0 where a number is less than the other one, 1 where they are equal, 2 where it is greater; −1 if one is NaN.

    *Shape:* two tensors that broadcast → ``long`` of their common shape.
    """

    def is_year(values: Tensor) -> Tensor:
        return (values == values.floor()) & (values >= YEARS[0]) & (values <= YEARS[1])

    either = is_year(numbers) | is_year(others)
    near = [(values >= YEARS[0]) & (values < YEARS[1] + 1) for values in (numbers, others)]
    one, two = (torch.where(either & near[0] & near[1], values.floor(), values) for values in (numbers, others))
    difference = one - two
    order = torch.where(difference.abs() <= TOLERANCE * two.abs(), 0.0, difference.sign())
    return torch.where(difference.isnan(), -1, order.nan_to_num() + 1).long()


class NumberMarks(nn.Module):
    """Marks for the tokens of numbers: which number of the question it is, or how a number of a fact compares with each
    of the question's first `most` numbers."""

    def __init__(self, *, width: int, most: int = 4) -> None:
        super().__init__()
        self.most = most
        self.of_question = nn.Parameter(torch.randn(most, width) / 2)
        self.of_fact = nn.Parameter(torch.randn(3 * most, width) / 2)

    def forward(self, questions: Rows, facts: Rows, asked: Tensor) -> tuple[Tensor, Tensor]:
        """*Shape:* rows of ``q`` questions and of ``f`` facts, ``asked [f]`` the question of each fact → marks to add
        to the token states of both, ``[total, d]``."""
        which, known = question_numbers(questions, self.most)
        none = self.of_fact.new_zeros(1, self.of_fact.shape[1])
        marks = F.embedding(which % (self.most + 1), torch.cat([self.of_question, none]))
        token = facts.numbers.isnan().logical_not().nonzero().flatten()
        question = asked.repeat_interleave(facts.lengths)[token]
        order = compare(facts.numbers[token][:, None], known[question])
        index = torch.where(order < 0, 3 * self.most, 3 * torch.arange(self.most, device=order.device) + order)
        compared = F.embedding(index, torch.cat([self.of_fact, none])).sum(1)
        return marks, compared.new_zeros(len(facts.numbers), compared.shape[1]).index_copy(0, token, compared)


def question_numbers(questions: Rows, most: int) -> tuple[Tensor, Tensor]:
    """Which number of its question a token belongs to, −1 for none or a later one, and the first `most` numbers.

    *Shape:* ``[total]``, ``[q, most]`` with NaN for numbers that a question does not have.
    """
    numbers, starts = questions.numbers, questions.starts
    is_number = ~numbers.isnan()
    # adjacent tokens of the same number are one; NaN differs from everything
    begins = (is_number & (numbers != torch.roll(numbers, 1))).long()
    begins[starts] = is_number[starts].long()
    owner = torch.arange(len(questions), device=starts.device).repeat_interleave(questions.lengths)
    count = begins.cumsum(0)
    which = count - 1 - (count - begins)[starts][owner]
    which = torch.where(is_number & (which < most), which, -1)
    known, kept = numbers.new_full((len(questions), most), float("nan")), which >= 0
    known[owner[kept], which[kept]] = numbers[kept]
    return which, known
