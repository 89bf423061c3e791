"""The optimiser: Muon for matrices, AdamW for all else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW, Muon, Optimizer

MATRIX = 64
"""Smallest side of a parameter that counts as a matrix: the two kinds of sentences or eight weightings do not."""


class MuonWithAdamW(Optimizer):
    """Muon (Jordan et al. 2024; scaled as in arXiv:2502.16982) moves a matrix by its orthogonalised momentum, so that
    all its directions learn at one pace; AdamW does the rest. To schedule and trainer they look like one.

    Args:
        matrices: two-dimensional parameters.
        others: the groups that AdamW takes, with their learning rates.
        learning_rate: of the matrices; scaled to the size of AdamW's steps.
        weight_decay: of both.
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        others: Iterable[dict[str, Any]],
        *,
        learning_rate: float,
        weight_decay: float,
    ) -> None:
        self.parts: list[Optimizer] = [
            Muon(matrices, lr=learning_rate, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
            AdamW(others, weight_decay=weight_decay),
        ]
        super().__init__([group for part in self.parts for group in part.param_groups], {})
        self._share()

    def _share(self) -> None:
        """One list of groups, so that what a schedule writes here is what the parts read."""
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
    """AdamW, or with Muon beside it.

    Args:
        groups: all parameters with AdamW's learning rates; groups may be empty.
        matrices: those among them that Muon may take, where they are matrices.
        matrix_learning_rate: Muon's; 0 leaves all to AdamW.
        weight_decay: of both.
    """
    taken = [p for p in matrices if is_matrix(p)] if matrix_learning_rate else []
    moved = {id(p) for p in taken}
    rest = [{**group, "params": [p for p in group["params"] if id(p) not in moved]} for group in groups]
    rest = [group for group in rest if group["params"]]
    if not taken:
        return AdamW(rest, weight_decay=weight_decay)
    return MuonWithAdamW(taken, rest, learning_rate=matrix_learning_rate, weight_decay=weight_decay)


def is_matrix(parameter: nn.Parameter) -> bool:
    return parameter.ndim == 2 and min(parameter.shape) >= MATRIX
