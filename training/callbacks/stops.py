"""Stop before a loss or gradient that is no number reaches the weights.

Stop when the dev score no longer rises.
"""

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
    """End training after `patience` epochs in a row without a better dev score.

    Off by default: the learning rate falls to 0 over all epochs, so the last ones are as a rule the best, and a score
    that rests in the middle says little.

    Args:
        patience: epochs; 0 to train all of them.
    """

    def __init__(self, patience: NonNegativeInt = 0) -> None:
        super().__init__("dev/score", mode="max", patience=int(patience), check_finite=False)

    @property
    def exhausted(self) -> bool:
        """Whether the patience is used up."""
        return 0 < self.patience <= self.wait_count

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # the patience is the config's, also where the run began with another
        super().load_state_dict({**state_dict, "patience": self.patience})

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # a run that was killed after it had decided to stop, and before it had saved its weights
        trainer.should_stop = trainer.should_stop or self.exhausted

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.patience:
            super().on_train_epoch_end(trainer, pl_module)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.patience:
            super().on_validation_end(trainer, pl_module)


class StopAtNotFinite(Callback):
    """Raise a `BgrError` at the first loss or gradient norm that is infinite or not a number, before the optimiser
    steps, and at such a loss on dev. The weights stay sound, and so does the last checkpoint.

    A loss scaler (``16-mixed``) meets infinite gradients by design and skips those steps; there only the loss counts.

    Args:
        name: of what is trained, for the message.
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
        # both at once: on a GPU each look waits for the device
        values = torch.stack([loss.float(), norm.float().to(loss.device)]).tolist()
        for name, value in zip(("loss", "gradient norm"), values, strict=True):
            self._check(trainer, pl_module, name, value)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._check(trainer, pl_module, "dev loss", float(trainer.callback_metrics.get("dev/loss", 0.0)))

    def _check(self, trainer: Trainer, module: LightningModule, name: str, value: float) -> None:
        if torch.isfinite(torch.tensor(value)):
            return
        # the step that is being taken, counted from 1; a dev loss comes after the step
        step = trainer.global_step + (name != "dev loss")
        rates = ", ".join(f"--model.{key}" for key in module.hparams if key.endswith("learning_rate"))
        raise BgrError(
            f"{self.name}: the {name} is {value} at step {step} (epoch {trainer.current_epoch + 1}); try lower rates "
            f"({rates}) or --trainer.precision=32-true; {_kept(trainer.checkpoint_callbacks)}"
        )


def _kept(callbacks: Sequence[Callback]) -> str:
    for callback in callbacks:
        if isinstance(callback, KeepCheckpoints) and callback.step:
            return f"the checkpoint of step {callback.step} is kept, --resume goes on from it"
        if isinstance(callback, ModelCheckpoint) and callback.last_model_path:
            return "the checkpoint of the last epoch is kept, --resume goes on from it"
    return "no checkpoint was written yet, --overwrite starts anew"
