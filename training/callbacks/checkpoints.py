"""Training checkpoints that survive a kill at any moment: the last state, and the weights of the best epoch.

::

    last.ckpt         all that a training needs to go on, written at the end of each epoch and now and then inside it
    best-STEP.ckpt    weights with the best dev score so far, those that last.ckpt names
    next.ckpt         becomes last.ckpt once a step from its weights came out finite
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from bgr.errors import BgrError
from bgr.utils.atomic_io import new_file


class AtomicFiles(TorchCheckpointIO):
    """Checkpoint files that are complete under their name or missing, whenever the process is killed or the power
    fails. Lightning's own writer goes through the system's temporary folder, from which a move can be a copy."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with new_file(path, parents=True, durable=True, single=True) as part, part.open("wb") as file:
            torch.save(checkpoint, file)


class KeepCheckpoints(Checkpoint):
    """Write the last state and the best epoch's weights.

    Args:
        folder: where; made when the first file is written.
        minutes: inside an epoch, time between two checkpoints; 0 for none by time.
        steps: inside an epoch, optimiser steps between two checkpoints; 0 for none by steps.
    """

    def __init__(self, folder: str, minutes: NonNegativeFloat = 5.0, steps: NonNegativeInt = 0) -> None:
        self.folder = Path(folder)
        self.minutes = float(minutes)
        self.steps = int(steps)
        self.best = ""  # file name
        self.score = float("-inf")
        self.step: int | None = None  # of last.ckpt
        self._waiting: int | None = None  # step of next.ckpt
        self._at = (0, 0.0)  # step and time of what was written last
        self._seen = 0

    @property
    def last(self) -> Path:
        """What a training goes on from."""
        return self.folder / "last.ckpt"

    @property
    def next(self) -> Path:
        """What `last` will be if its weights turn out to be sound."""
        return self.folder / "next.ckpt"

    def best_weights(self) -> dict[str, Any]:
        """The module's state after the best epoch.

        Raises:
            BgrError: its file is missing.
        """
        path = self.folder / self.best
        if not path.is_file():
            raise BgrError(f"{path.parent}: the best epoch's weights are missing; --overwrite trains anew")
        return dict(torch.load(path, map_location="cpu", weights_only=True)["state_dict"])

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "score": self.score}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best, self.score = state_dict["best"], state_dict["score"]

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.step = trainer.global_step or None
        self._seen = trainer.global_step
        self._at = (trainer.global_step, time.monotonic())

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self._seen:  # gradients are being accumulated, and no checkpoint holds them
            return
        self._seen = trainer.global_step
        self._accept(trainer)
        # an epoch's end writes its own, after validation
        if not trainer.is_last_batch and self._due(trainer):
            trainer.save_checkpoint(self.next)
            self._waiting = trainer.global_step
            self._at = (trainer.global_step, time.monotonic())

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        score = float(trainer.callback_metrics.get("dev/score", float("-inf")))
        if not trainer.sanity_checking and score > self.score:
            self._keep_best(trainer, score)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.score == float("-inf"):  # never validated: the newest counts as the best
            self._keep_best(trainer, self.score)
        trainer.save_checkpoint(self.last)
        self.step, self._waiting = trainer.global_step, None
        self._at = (trainer.global_step, time.monotonic())
        if trainer.is_global_zero:
            # only now that last.ckpt names the new best; what a killed run left goes too
            for pattern in ("best-*.ckpt", "next.ckpt", "*.ckpt.part"):
                for path in sorted(self.folder.glob(pattern)):
                    if path.name != self.best:
                        path.unlink()

    def _due(self, trainer: Trainer) -> bool:
        step, moment = self._at
        by_step = self.steps > 0 and trainer.global_step - step >= self.steps
        by_time = self.minutes > 0 and time.monotonic() - moment >= 60 * self.minutes
        # clocks differ between processes, and all must save together
        return bool(trainer.strategy.broadcast(by_step or by_time))

    def _accept(self, trainer: Trainer) -> None:
        """The step from next.ckpt's weights was taken, so its loss and gradient were finite."""
        if self._waiting is None:
            return
        if trainer.is_global_zero:
            os.replace(self.next, self.last)
        self.step, self._waiting = self._waiting, None

    def _keep_best(self, trainer: Trainer, score: float) -> None:
        self.best, self.score = f"best-{trainer.global_step}.ckpt", score
        trainer.save_checkpoint(self.folder / self.best, weights_only=True)
