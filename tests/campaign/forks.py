"""Commands in fresh processes that need not import anything: forks of a process that has imported the libraries.

Only a process without threads may fork, since a lock that a thread holds would stay locked in the child forever; this
is checked before each fork. So the process of the campaign computes nothing itself.
"""

from __future__ import annotations

import gc
import os

# before PyTorch, tokenizers and Arrow are imported
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

import json
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 120.0
"""Time limit of a command, which takes one to five seconds on an idle core."""

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}

Act = Callable[[], int]


def import_all() -> None:
    """Import what the commands import, so that forks begin at once."""
    import encodings.utf_8_sig

    import datasets
    import lightning
    import matplotlib.pyplot as plt
    import torch
    import transformers
    from transformers import BertModel, LlamaForCausalLM, T5ForConditionalGeneration

    import bgr.collection.collection
    import bgr.pipeline
    import eval.run.evaluate
    import training.start

    del datasets, lightning, plt, torch, transformers, BertModel, LlamaForCausalLM, T5ForConditionalGeneration
    del bgr, encodings, eval, training
    # the garbage collector of each fork need not walk through the libraries
    gc.collect()
    gc.freeze()


def threads() -> list[str]:
    """The names of this process's threads."""
    home = Path("/proc/self/task")
    return [(task / "comm").read_text().strip() for task in home.iterdir()]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: the signal that ended it), what it printed, and in how long."""

    code: int
    out: str
    error: str
    seconds: float
    hung: bool = False

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.error.replace("\r", "\n").strip().split("\n")[-1]


class Child:
    """A running fork, in a session of its own."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.pid, self.folder, self.began = pid, folder, time.monotonic()
        self.code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or ``None`` while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def kill(self) -> None:
        """SIGKILL to the command and to every process that it started."""
        if self.poll() is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has no session of its own yet
                os.kill(self.pid, signal.SIGKILL)
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Wait for the end; a command that takes longer than its limit is killed and counts as hung."""
        while self.poll() is None and time.monotonic() - self.began < seconds:
            time.sleep(0.003)
        return self.ended(hung=self.poll() is None)

    def ended(self, *, hung: bool = False) -> Ended:
        took = time.monotonic() - self.began
        self.kill()
        out, error = ((self.folder / name).read_text(errors="replace") for name in ("out.log", "error.log"))
        return Ended(self.code or 0, out, error, took, hung)


def start(act: Act, folder: Path) -> Child:
    """Run a function in a fork, whose output goes to files in the folder.

    Raises:
        RuntimeError: this process has a thread.
    """
    if len(found := threads()) != 1:
        raise RuntimeError(f"a process with threads must not fork: {found}")
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Child(pid, folder)
    code = 70
    try:
        os.setsid()
        _redirect(folder)
        code = act()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 1
        os._exit(code & 0xFF)


def run(act: Act, folder: Path, seconds: float = SECONDS) -> Ended:
    """`start`, and wait for the end."""
    return start(act, folder).wait(seconds)


def many(
    tasks: Iterable[tuple[Any, Act]], home: Path, jobs: int, seconds: float = SECONDS
) -> Iterator[tuple[Any, Ended]]:
    """Run tasks in forks, `jobs` at a time; each has a folder of its own in `home`."""
    running: list[tuple[Any, Child]] = []
    waiting = iter(enumerate(tasks))
    more = True
    while more or running:
        while more and len(running) < jobs:
            number, task = next(waiting, (0, None))
            if task is None:
                more = False
            else:
                running.append((task[0], start(task[1], home / f"{number:05d}")))
        time.sleep(0.003)
        for entry in list(running):
            key, child = entry
            late = time.monotonic() - child.began > seconds
            if child.poll() is not None or late:
                running.remove(entry)
                yield key, child.ended(hung=child.poll() is None)


def _redirect(folder: Path) -> None:
    """Standard streams to files; as text streams of their own, since those of pytest or a notebook may have no file."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for number, name in ((1, "out.log"), (2, "error.log")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def command(words: Iterable[str], environment: dict[str, str] | None = None) -> Act:
    """`bgr` with these words."""
    words = list(words)

    def act() -> int:
        from bgr.cli import main

        os.environ.update(environment or {})
        return main(words)

    return act


def killed_at(act: Act, folder: Path, at: int | None, log: Path | None = None) -> Act:
    """`act`, killed just before change number `at` (from 0) on disk below `folder`; `log` gets the number of changes.

    What a command has on disk changes where it opens a file to write, renames, removes or makes a folder, so a kill
    before each of these leaves every state there is, but for files that are half written.
    """

    def watched() -> int:
        count, prefix = 0, str(folder)

        def watch(event: str, args: tuple[Any, ...]) -> None:
            nonlocal count
            writes = event in CHANGES or (event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR))
            if writes and isinstance(args[0], str | os.PathLike) and str(os.fspath(args[0])).startswith(prefix):
                if count == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1

        sys.addaudithook(watch)
        code = act()
        total = count
        if log is not None:
            log.write_text(json.dumps(total))
        return code

    return watched


def limited(act: Act, **limits: int) -> Act:
    """`act` with limits of `resource`, such as ``FSIZE=4096``; a file that grows too large raises an error."""

    def inside() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for name, value in limits.items():
            kind = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
        return act()

    return inside
