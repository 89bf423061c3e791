"""Linear layers for batches of any size on a CPU that multiplies bfloat16 natively.

There, PyTorch's library of matrix products (oneDNN) compiles a kernel for every new number of rows, which takes 2 to 7
ms, several times as long as the product, and the number of tokens of a batch is nearly always new. Here, a product is
made of two whose numbers of rows are round, so that a handful of kernels serve all batches.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DIGITS = 3
"""Binary digits of a round number, after which it has zeros: at most four numbers of rows from any power of two to the
next."""


def round_linears(model: nn.Module) -> None:
    """Let all linear layers of a model, those of other packages too, compute as `RoundLinear` with the same weights."""
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = RoundLinear


class RoundLinear(nn.Linear):
    """A linear layer whose products in bfloat16 on a CPU have round numbers of rows; elsewhere as PyTorch's."""

    def forward(self, input: Tensor) -> Tensor:
        """*Shape:* ``[…, d]`` → ``[…, out]``."""
        in_16_bits = input.dtype == torch.bfloat16 or (
            torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
        )
        if input.device.type != "cpu" or not in_16_bits:
            return super().forward(input)
        rows = input.reshape(-1, self.in_features).bfloat16()
        bias = None if self.bias is None else self.bias.bfloat16()
        product: Tensor = _RoundProduct.apply(rows, self.weight.bfloat16(), bias)
        return product.view(*input.shape[:-1], self.out_features)


def round_parts(rows: int) -> tuple[int, int]:
    """How many rows the first product has, and how many the second, which ends with the last row and may begin within
    the first; both are round numbers. *Example:* 1,100 rows are the first 1,024 and the last 80."""
    first = _round_down(rows)
    rest = rows - first
    second = _round_down(rest)
    if second < rest:  # the next round number
        second += 1 << max(rest.bit_length() - DIGITS, 0)
    return first, second


def _round_down(number: int) -> int:
    zeros = max(number.bit_length() - DIGITS, 0)
    return number >> zeros << zeros


class _RoundProduct(torch.autograd.Function):
    """``rows @ weight.T + bias``. *Shape:* ``[n, d]``, ``[out, d]``, ``[out]`` or none → ``[n, out]``."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _product(rows, weight.t(), bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        for_rows, for_weight, for_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight) if for_rows else None,
            _weight_gradient(gradient, rows) if for_weight else None,
            gradient.sum(0) if for_bias else None,
        )


def _product(rows: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    result = rows.new_empty(len(rows), matrix.shape[1])
    first, second = round_parts(len(rows))
    for part in (slice(first), slice(len(rows) - second, None)):
        if not len(rows[part]):
            continue
        if bias is None:
            torch.mm(rows[part], matrix, out=result[part])
        else:
            torch.addmm(bias, rows[part], matrix, out=result[part])
    return result


def _weight_gradient(gradient: Tensor, rows: Tensor) -> Tensor:
    first, second = round_parts(len(rows))
    result = gradient[:first].t() @ rows[:first]
    if first == len(rows):
        return result
    # rows that both parts have would count twice
    padding = (0, 0, 0, second - (len(rows) - first))
    rest = F.pad(gradient[first:], padding).t() @ F.pad(rows[first:], padding)
    return result.float().add_(rest).to(result.dtype)
