"""Callbacks that stop a training: at a loss or gradient that is not finite, or when the dev score stops improving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jsonargparse.typing import NonNegativeInt
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from bgr.errors import BgrError
from training.callbacks.checkpoints import KeepCheckpoints


class EarlyStop(EarlyStopping):
    """Stops training after `patience` epochs in a row without a better dev score.

    It is off by default: the learning rate falls to 0 over all epochs, so the last ones are usually the best, and a
    plateau before them means little.

    Args:
        patience: number of epochs; 0 to train all epochs.
    """

    def __init__(self, patience: NonNegativeInt = 0) -> None:
        super().__init__("dev/score", mode="max", patience=int(patience), check_finite=False)

    @property
    def exhausted(self) -> bool:
        """True if the patience is exhausted."""
        return 0 < self.patience <= self.wait_count

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # the patience of the config, even if the run started with another one
        super().load_state_dict({**state_dict, "patience": self.patience})

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # for a run that was killed between its decision to stop and saving its weights
        trainer.should_stop = trainer.should_stop or self.exhausted

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.patience:
            super().on_train_epoch_end(trainer, pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.patience:
            super().on_validation_end(trainer, pl_module)


class StopAtNotFinite(Callback):
    """Raises a `BgrError` at the first loss or gradient norm that is not finite, before the optimizer step, and at such
    a dev loss. Weights and the last checkpoint remain valid.

    A loss scaler (``16-mixed``) produces infinite gradients by design and skips those steps, so only the loss is
    checked with one. The message begins with `name`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._loss: Tensor | float = 0.0

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        self._loss = self._loss + loss.detach()

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        loss, self._loss = torch.as_tensor(self._loss), 0.0
        gradients = [p.grad for p in pl_module.parameters() if p.grad is not None]
        scaled = getattr(trainer.precision_plugin, "scaler", None) is not None
        norm = torch.zeros_like(loss) if scaled else get_total_norm(gradients)
        # both at once, because each read waits for the GPU
        values = torch.stack([loss.float(), norm.float().to(loss.device)]).tolist()
        for name, value in zip(("loss", "gradient norm"), values, strict=True):
            self._check(trainer, pl_module, name, value)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._check(trainer, pl_module, "dev loss", float(trainer.callback_metrics.get("dev/loss", 0.0)))

    def _check(self, trainer: Trainer, module: LightningModule, name: str, value: float) -> None:
        if torch.isfinite(torch.tensor(value)):
            return
        # the current step, counted from 1; a dev loss comes after the step
        step = trainer.global_step + (name != "dev loss")
        rates = ", ".join(f"--model.{key}" for key in module.hparams if key.endswith("learning_rate"))
        raise BgrError(
            f"{self.name}: the {name} is {value} at step {step} (epoch {trainer.current_epoch + 1}); try lower rates "
            f"({rates}) or --trainer.precision=32-true; {_kept(trainer.checkpoint_callbacks)}"
        )


def _kept(callbacks: Sequence[Callback]) -> str:
    for callback in callbacks:
        if isinstance(callback, KeepCheckpoints) and callback.step:
            return f"the checkpoint of step {callback.step} is kept, --resume starts from it"
        if isinstance(callback, ModelCheckpoint) and callback.last_model_path:
            return "the checkpoint of the last epoch is kept, --resume starts from it"
    return "no checkpoint was written yet, --overwrite starts again"
