"""Sampling whose draws belong to a row and not to its batch (Gumbel-max: the noisiest of the likeliest tokens wins).

A random generator shared by a batch would give a fact another sentence in other company. Here the noise of a token is
a hash of the row's seed, the step and the token.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LogitsProcessor

# numbers of SplitMix64, signed: PyTorch has no unsigned 64-bit arithmetic
_STEP = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64)
_DIGITS = 53


class RowNoise(LogitsProcessor):
    """Makes greedy search sample from the `top_k` likeliest tokens.

    Args:
        seeds: one a row, ``int64 [n]``.
        top_k: tokens that can be drawn at a step.
        temperature: above 0; the lower, the more often the likeliest.
    """

    def __init__(self, seeds: Tensor, *, top_k: int, temperature: float) -> None:
        self.seeds = seeds
        self.top_k = top_k
        self.temperature = temperature

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """``[n, vocabulary]`` → the same with noise on the likeliest and nothing else left."""
        values, tokens = scores.topk(min(self.top_k, scores.shape[1]), dim=1)  # [n, k]
        seeds = _mixed(self.seeds + input_ids.shape[1])[:, None]
        noisy = values.double() / self.temperature + gumbel(seeds + tokens)
        return torch.full_like(scores, -torch.inf).scatter(1, tokens, noisy.to(scores.dtype))


def gumbel(numbers: Tensor) -> Tensor:
    """Standard Gumbel noise, a function of each ``int64`` number alone; ``float64`` of the same shape."""
    uniform = (_shifted(_mixed(numbers), 64 - _DIGITS).double() + 0.5) / (1 << _DIGITS)
    return -torch.log(-torch.log(uniform))


def _mixed(numbers: Tensor) -> Tensor:
    """What SplitMix64 gives at these places of its sequence: each bit hangs on each (Steele et al., 2014)."""
    numbers = (numbers + 1) * _STEP
    numbers = (numbers ^ _shifted(numbers, 30)) * _FIRST
    numbers = (numbers ^ _shifted(numbers, 27)) * _SECOND
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, by: int) -> Tensor:
    """To the right, zeros from the left."""
    return (numbers >> by) & ((1 << (64 - by)) - 1)
