"""Muon, also for devices that are slow at bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn, optim

from bgr.utils.devices import fast_bfloat16


class Muon(optim.Muon):
    """PyTorch's Muon with steps of AdamW's size; in float32 where the device does not multiply bfloat16 natively.

    PyTorch always orthogonalizes in bfloat16. A CPU that emulates it spends three quarters of a training step on this.
    """

    def __init__(self, params: Iterable[nn.Parameter], *, lr: float, weight_decay: float) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if fast_bfloat16(self.param_groups[0]["params"][0].device):
            return super().step(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)
        return loss

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state, rate = self.state[parameter], group["lr"]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient)
        momentum = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        update = gradient.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
        direction = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        parameter.mul_(1 - rate * group["weight_decay"])
        parameter.add_(direction, alpha=-rate * 0.2 * max(parameter.shape) ** 0.5)  # as match_rms_adamw


def orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """The matrix ``[m, n]`` with all singular values near 1, by Newton-Schulz iterations (Jordan et al. 2024)."""
    a, b, c = coefficients
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T
