"""Both directions at once on a CPU: they share nothing, and two processes with half the cores each waste less of them
than one after the other with all."""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from tqdm import tqdm

from bgr.errors import BgrError


@dataclass(frozen=True)
class Epoch:
    """A finished epoch of one direction: its number from 1, of how many, and the metrics logged so far."""

    direction: str
    number: int
    of: int
    metrics: dict[str, float]

    def line(self) -> str:
        shown = "  ".join(f"{name} {value:.3f}" for name, value in sorted(self.metrics.items()))
        return f"{self.direction:8}  epoch {self.number}/{self.of}  {shown}"


class Reporter(Callback):
    """Hands on each finished epoch."""

    def __init__(self, direction: str, report: Callable[[Epoch], None]) -> None:
        self.direction = direction
        self.report = report

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.report(Epoch(self.direction, trainer.current_epoch + 1, trainer.max_epochs or 0, metrics))


Work = Callable[[str, Callable[[Epoch], None]], None]
"""Works on a direction (first argument) and reports its epochs (second). Picklable."""


def in_processes(work: Work, directions: Sequence[str], *, bar: bool = True) -> None:
    """Run `work` for every direction, each in a process of its own with its share of the cores.

    Args:
        work: what to do.
        directions: one process each.
        bar: show the epochs on standard error.

    Raises:
        BgrError: a process failed; the message is that of its error.
    """
    context = multiprocessing.get_context("spawn")
    messages: Queue[Epoch | str] = context.Queue()
    threads = max(1, torch.get_num_threads() // len(directions))
    children = [context.Process(target=_child, args=(work, d, threads, messages), daemon=True) for d in directions]
    # a child's libraries read their number of threads when they are loaded
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    for child in children:
        child.start()
    if before is None:
        del os.environ["OMP_NUM_THREADS"]
    else:
        os.environ["OMP_NUM_THREADS"] = before
    try:
        _watch(children, messages, show=bar)
    finally:
        for child in children:
            child.terminate()
            child.join()


def _watch(
    children: Sequence[multiprocessing.process.BaseProcess], messages: Queue[Epoch | str], *, show: bool
) -> None:
    bar = tqdm(desc="training", unit="epoch", disable=not show)
    while True:
        # read before the messages are: what a child said before it ended is then surely there
        over = all(child.exitcode is not None for child in children)
        failed = any(child.exitcode for child in children)
        try:
            while True:
                message = messages.get(timeout=0.2)
                if isinstance(message, str):
                    raise BgrError(message)
                bar.total = message.of * len(children)
                bar.update()
                bar.write(message.line(), file=sys.stderr)
        except queue.Empty:
            pass
        if failed:
            codes = [child.exitcode for child in children]
            raise BgrError(f"a training process ended with exit codes {codes}; its output above says why")
        if over:
            bar.close()
            return


def _child(work: Work, direction: str, threads: int, messages: Queue[Epoch | str]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        work(direction, messages.put)
    except BgrError as error:
        messages.put(str(error))


def _end_with_parent() -> None:
    """A parent that was killed cannot end its children; they would train on for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
