"""Training of both directions at once on a CPU.

The directions are independent, and two processes with half of the cores each use them better than one process with all.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue

import torch
from tqdm import tqdm

from bgr.errors import BgrError
from bgr.utils.progress import percent, time_left
from training.callbacks import Epoch, Message, Progress, Report, Stop

PATIENCE = 10.0
"""Seconds that a process may take to end after it is asked to."""


Sent = Message | BgrError
"""Report of a process, or its error."""

Work = Callable[[str, Report], None]
"""A picklable function that trains a direction (first argument) and reports its epochs (second)."""


def in_processes(work: Work, directions: Sequence[str], *, bar: bool = True) -> None:
    """Run `work` for every direction in its own process with its share of the cores, and write their reports to
    standard error; `bar` also shows a bar if that is a terminal.

    Raises:
        BgrError: a process failed; the message is that of its error.
    """
    context = multiprocessing.get_context("spawn")
    messages: Queue[Sent] = context.Queue()
    threads = max(1, torch.get_num_threads() // len(directions))
    children = [
        context.Process(target=_child, args=(work, direction, threads, messages), name=direction)
        for direction in directions
    ]
    # the libraries of a child process read their number of threads when they are loaded
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
            child.terminate()  # Lightning finishes its step
        for child in children:
            child.join(PATIENCE)
            if child.exitcode is None:
                child.kill()
                child.join()


def _watch(children: Sequence[BaseProcess], messages: Queue[Sent], *, show: bool) -> None:
    shares = {child.name: 0.0 for child in children}
    notes = dict.fromkeys(shares, "")
    # each direction knows its own time left, also after it was resumed; the bar does not
    form = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
    with tqdm(total=len(children), desc="training", bar_format=form, disable=not (show and sys.stderr.isatty())) as bar:
        while True:
            # read before the messages, so that all messages of an ended child are in the queue
            over = all(child.exitcode is not None for child in children)
            failed = [child for child in children if child.exitcode]
            # limited, so that a child that reports constantly cannot hide that another one has died
            until = time.monotonic() + 1
            try:
                while over or time.monotonic() < until:
                    _show(bar, messages.get(timeout=0.2), shares, notes)
            except queue.Empty:
                pass
            if failed:
                raise BgrError("; ".join(_cause(child) for child in failed))
            if over:
                return


def _show(bar: tqdm, message: Sent, shares: dict[str, float], notes: dict[str, str]) -> None:
    """Write a message, and show in the bar how much of each direction is done."""
    if isinstance(message, BgrError):
        raise message
    if isinstance(message, Progress):
        shares[message.name] = message.share
        notes[message.name] = f"{message.name} {percent(message.share)}, {time_left(message.left)}"
    elif isinstance(message, Epoch | Stop):
        shares[message.name] = message.number / message.of if isinstance(message, Epoch) else 1.0
        notes[message.name] = f"{message.name} {percent(shares[message.name])}"
    if not isinstance(message, Progress) or bar.disable:
        bar.write(message.line(), file=sys.stderr)
    bar.n = sum(shares.values())
    bar.set_postfix_str("; ".join(filter(None, notes.values())))


def _cause(child: BaseProcess) -> str:
    code = child.exitcode or 0
    if code >= 0:
        return f"{child.name}: its process ended with exit code {code}; its output above says why"
    name = signal.Signals(-code).name
    return f"{child.name}: its process was ended by {name} (SIGKILL: perhaps out of memory); --resume continues"


def _child(work: Work, direction: str, threads: int, messages: Queue[Sent]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        work(direction, messages.put)
    except BgrError as error:
        messages.put(BgrError(str(error)))


def _end_with_parent() -> None:
    """Exit when the parent ends, because a parent that is killed cannot end its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
