"""Training checkpoints that survive a kill at any time: the last state and the weights of the best epoch.

::

    last.ckpt         complete state for resuming, written at the end of each epoch and periodically within it
    best-STEP.ckpt    weights with the best dev score so far, referenced by last.ckpt
    next.ckpt         renamed to last.ckpt after the next step was finite
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
    """Checkpoint files that are complete or missing, whenever the process is killed or the power fails. Lightning's own
    writer goes through the system's temporary folder, from which a move can be a copy."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with new_file(path, parents=True, durable=True, single=True) as part, part.open("wb") as file:
            torch.save(checkpoint, file)


class KeepCheckpoints(Checkpoint):
    """Writes the last state and the weights of the best epoch.

    Args:
        folder: folder of the checkpoints, created with the first file.
        minutes: minutes between two checkpoints within an epoch; 0 for none by time.
        steps: optimizer steps between two checkpoints within an epoch; 0 for none by steps.
    """

    def __init__(self, folder: str, minutes: NonNegativeFloat = 5.0, steps: NonNegativeInt = 0) -> None:
        self.folder = Path(folder)
        self.last = self.folder / "last.ckpt"
        self.next = self.folder / "next.ckpt"
        self.minutes = float(minutes)
        self.steps = int(steps)
        self.best = ""  # file name
        self.score = float("-inf")
        self.step: int | None = None  # of `last`
        self._waiting: int | None = None  # step of `next`
        self._at = (0, 0.0)  # step and time of the last checkpoint
        self._seen = 0

    def best_weights(self) -> dict[str, Any]:
        """The state of the module after the best epoch.

        Raises:
            BgrError: the file is missing.
        """
        path = self.folder / self.best
        if not path.is_file():
            raise BgrError(f"{path.parent}: the weights of the best epoch are missing; --overwrite trains again")
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
        if trainer.global_step == self._seen:  # checkpoints do not include accumulated gradients
            return
        self._seen = trainer.global_step
        if self._waiting is not None:  # a step from the weights of `next` was finite
            if trainer.is_global_zero:
                os.replace(self.next, self.last)
            self.step, self._waiting = self._waiting, None
        # the end of an epoch writes its own checkpoint after validation
        if not trainer.is_last_batch and self._due(trainer):
            trainer.save_checkpoint(self.next)
            self._waiting = trainer.global_step
            self._at = (trainer.global_step, time.monotonic())

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        score = float(trainer.callback_metrics.get("dev/score", float("-inf")))
        if not trainer.sanity_checking and score > self.score:
            self._keep_best(trainer, score)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.score == float("-inf"):  # without validation, the last epoch is the best
            self._keep_best(trainer, self.score)
        trainer.save_checkpoint(self.last)
        self.step, self._waiting = trainer.global_step, None
        self._at = (trainer.global_step, time.monotonic())
        if trainer.is_global_zero:
            # only after last.ckpt references the new best; this also removes files of a killed run
            for pattern in ("best-*.ckpt", "next.ckpt", "*.ckpt.part"):
                for path in sorted(self.folder.glob(pattern)):
                    if path.name != self.best:
                        path.unlink()

    def _due(self, trainer: Trainer) -> bool:
        step, moment = self._at
        by_step = self.steps > 0 and trainer.global_step - step >= self.steps
        by_time = self.minutes > 0 and time.monotonic() - moment >= 60 * self.minutes
        # clocks differ between processes, which must save together
        return bool(trainer.strategy.broadcast(by_step or by_time))

    def _keep_best(self, trainer: Trainer, score: float) -> None:
        self.best, self.score = f"best-{trainer.global_step}.ckpt", score
        trainer.save_checkpoint(self.folder / self.best, weights_only=True)
