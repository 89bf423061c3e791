"""The optimizer: Muon for matrices, also on devices that are slow at bfloat16, and AdamW for all other parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn, optim
from torch.optim import AdamW, Optimizer
from transformers import get_linear_schedule_with_warmup

from bgr.utils.devices import fast_bfloat16

MATRIX = 64
"""Minimum dimension of a parameter that counts as a matrix, which excludes small embeddings and weightings."""


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


class MuonWithAdamW(Optimizer):
    """Muon for matrices and AdamW for other parameters, as one optimizer for schedule and trainer.

    Muon (Jordan et al. 2024; scaled as in arXiv:2502.16982) updates a matrix by its orthogonalized momentum, so that
    all directions are learned at the same rate; `learning_rate` is scaled to the size of AdamW's steps.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        others: Iterable[dict[str, Any]],
        *,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        muon = Muon(matrices, lr=learning_rate, weight_decay=weight_decay)
        self.parts: list[Optimizer] = [muon, AdamW(others, weight_decay=weight_decay)]
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._share()

    def _share(self) -> None:
        """Share the list of groups, so that a schedule's changes reach both parts."""
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self._share()


def make_optimizer(
    groups: Iterable[dict[str, Any]],
    matrices: Iterable[nn.Parameter],
    *,
    matrix_learning_rate: float,
    weight_decay: float,
) -> Optimizer:
    """AdamW for all parameters in `groups` (which may be empty) with their learning rates, or Muon for those of
    `matrices` that are matrices, unless `matrix_learning_rate` is 0, and AdamW for the rest."""
    chosen = [p for p in matrices if is_matrix(p)] if matrix_learning_rate else []
    by_muon = {id(p) for p in chosen}
    rest = [{**group, "params": [p for p in group["params"] if id(p) not in by_muon]} for group in groups]
    rest = [group for group in rest if group["params"]]
    if not chosen:
        return AdamW(rest, weight_decay=weight_decay)
    return MuonWithAdamW(chosen, rest, learning_rate=matrix_learning_rate, weight_decay=weight_decay)


def is_matrix(parameter: nn.Parameter) -> bool:
    return parameter.ndim == 2 and min(parameter.shape) >= MATRIX


def with_schedule(optimizer: Optimizer, trainer: Trainer, *, warmup: float) -> OptimizerLRScheduler:
    """The optimizer with rates that rise in the share `warmup` of its steps and then fall linearly to 0."""
    # optimizer steps: one for several batches with accumulated gradients
    steps = int(trainer.estimated_stepping_batches)
    schedule = get_linear_schedule_with_warmup(optimizer, round(warmup * steps), steps)
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
