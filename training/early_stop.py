"""Stop when the dev score no longer rises."""

from __future__ import annotations

from typing import Any

from jsonargparse.typing import NonNegativeInt
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping


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
