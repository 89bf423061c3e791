"""The optimizer: Muon for matrices, AdamW for all other parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import nn
from torch.optim import AdamW, Optimizer
from transformers import get_linear_schedule_with_warmup

from training.muon import Muon

MATRIX = 64
"""Minimum dimension of a parameter that counts as a matrix, which excludes small embeddings and weightings."""


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
