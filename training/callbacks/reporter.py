"""Progress reports of a training: one line for each epoch and for an early stop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from lightning.pytorch import Callback, LightningModule, Trainer

from training.callbacks.stops import EarlyStop


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


Report = Callable[[Epoch | Stop], None]


def to_stderr(message: Epoch | Stop) -> None:
    print(message.line(), file=sys.stderr)


class Reporter(Callback):
    """Reports each finished epoch and an early stop, in the first process only."""

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        self.report = report

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if trainer.is_global_zero:
            self.report(Epoch(self.name, trainer.current_epoch + 1, trainer.max_epochs or 0, metrics))

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop = trainer.early_stopping_callback
        if trainer.is_global_zero and isinstance(stop, EarlyStop) and stop.exhausted:
            best = float(stop.best_score)
            self.report(Stop(self.name, trainer.current_epoch, trainer.max_epochs or 0, stop.wait_count, best))
