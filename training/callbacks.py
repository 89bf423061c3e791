"""Callbacks of the trainings: checkpoints that survive a kill at any time, stops, and reports of the epochs.

The folder of checkpoints holds the last state and the weights of the best epoch::

    last.ckpt         complete state for resuming, written at the end of each epoch and periodically within it
    best-STEP.ckpt    weights with the best dev score so far, referenced by last.ckpt
    next.ckpt         renamed to last.ckpt after the next step was finite
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint, EarlyStopping, ModelCheckpoint
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import Optimizer

from bgr.errors import BgrError
from bgr.models.state_cache import CacheUse
from bgr.models.truncation import Truncation, truncation_text
from bgr.utils.atomic_io import new_file
from bgr.utils.progress import Pace, percent, time_left
from training.run import read_checkpoint


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
        """The state of the module after the best epoch; BgrError if its file cannot be read."""
        return dict(read_checkpoint(self.folder / self.best)["state_dict"])

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "score": self.score}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # a name alone: no path in a checkpoint leaves the folder
        self.best, self.score = Path(state_dict["best"]).name, state_dict["score"]

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
    """Raises a `BgrError` that begins with `name` at the first loss or gradient norm that is not finite, before the
    optimizer step, and at such a dev loss. Weights and the last checkpoint remain valid.

    A loss scaler (``16-mixed``) produces infinite gradients by design and skips those steps, so only the loss is
    checked with one.
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


@dataclass(frozen=True)
class Epoch:
    """A finished epoch of a direction or baseline: its number from 1, the number of epochs, and the logged metrics."""

    name: str
    number: int
    of: int
    metrics: dict[str, float]

    def line(self) -> str:
        metrics = "  ".join(f"{name} {value:.3f}" for name, value in sorted(self.metrics.items()))
        return f"{self.name:8}  epoch {self.number}/{self.of}  {metrics}"


@dataclass(frozen=True)
class Progress:
    """Progress within an epoch of a direction or baseline: its number from 1, the number of epochs, the share of the
    epoch and of the whole training that is done, and the seconds left of the whole training."""

    name: str
    number: int
    of: int
    epoch_share: float
    share: float
    left: float

    def line(self) -> str:
        return f"{self.name:8}  epoch {self.number}/{self.of}  {percent(self.epoch_share)}, {time_left(self.left)}"


@dataclass(frozen=True)
class Stop:
    """An early stop: epoch, number of epochs, epochs without a better dev score, and the best one."""

    name: str
    number: int
    of: int
    waited: int
    best: float

    def line(self) -> str:
        waited = f"{self.waited} {'epoch' if self.waited == 1 else 'epochs'} without a better dev score"
        return f"{self.name:8}  stopped early after epoch {self.number}/{self.of}: {waited} than {self.best:.3f}"


@dataclass(frozen=True)
class Truncated:
    """The texts of train and dev, tokenized: how many of each kind of text were truncated."""

    name: str
    counts: Mapping[str, Truncation]

    def line(self) -> str:
        return f"{self.name:8}  {truncation_text(self.counts)}"


@dataclass(frozen=True)
class Cached:
    """The states of frozen layers are in their cache: how many sentences were found there and how many computed, and
    the size of the cache on disk, which other data may share."""

    name: str
    use: CacheUse

    def line(self) -> str:
        use = self.use
        counts = f"{use.found:,} sentences found, {use.computed:,} computed"
        return f"{self.name:8}  states of frozen layers: {use.folder}, {use.size / 1e9:.2f} GB; {counts}"


Message = Epoch | Progress | Stop | Truncated | Cached
Report = Callable[[Message], None]


def to_stderr(message: Message) -> None:
    # on a terminal, Lightning's own bar shows the progress
    if not (isinstance(message, Progress) and sys.stderr.isatty()):
        print(message.line(), file=sys.stderr, flush=True)


class Reporter(Callback):
    """Reports progress within epochs, each finished epoch and an early stop, in the first process only."""

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self.report = report
        self._pace = Pace()
        self._start = (0, 0.0)  # step and time

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._pace = Pace()
        self._start = (trainer.global_step, time.monotonic())

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        share = (batch_idx + 1) / trainer.num_training_batches
        # the end of an epoch has its own report
        if not trainer.is_global_zero or trainer.is_last_batch or not self._pace.due(share):
            return
        step, start = self._start
        done, total = trainer.global_step, trainer.estimated_stepping_batches
        if done > step:  # a resumed run knows only the time of its own steps, validation between epochs included
            left = (time.monotonic() - start) * (total - done) / (done - step)
            number = trainer.current_epoch + 1
            self.report(Progress(self.name, number, trainer.max_epochs or 0, share, done / total, left))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if trainer.is_global_zero:
            self.report(Epoch(self.name, trainer.current_epoch + 1, trainer.max_epochs or 0, metrics))

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop = trainer.early_stopping_callback
        if trainer.is_global_zero and isinstance(stop, EarlyStop) and stop.exhausted:
            best = float(stop.best_score)
            self.report(Stop(self.name, trainer.current_epoch, trainer.max_epochs or 0, stop.wait_count, best))
