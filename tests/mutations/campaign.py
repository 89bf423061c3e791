"""Runs a command on damaged files and reports problems of the outcome.

A command may end well, or with exit code 1 and one clear line on standard error. It must not raise, hang, take much
memory, or leave anything behind.
"""

from __future__ import annotations

import contextlib
import io
import re
import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from bgr.cli import main

MANY_OR_ALL = pytest.mark.parametrize(
    "count",
    [pytest.param(40, marks=pytest.mark.workflow), pytest.param(10**6, marks=pytest.mark.slow)],
    ids=["many", "all"],
)
"""Of the cases of each kind: `.ci/run` tries many, ``-m slow`` all."""

MOST_SECONDS = 20.0
MOST_MEMORY = 600 * 1024
"""Seconds of the processor, and KiB by which the peak may grow."""
MOST_LETTERS = 700
UNCLEAR = re.compile(
    r"has no attribute|indices must be|unhashable|not subscriptable|not iterable|unsupported operand|object is not|"
    r"unexpected keyword|positional argument|Traceback|expected str instance|not supported between|list index|NoneType"
)
"""Python's messages for a wrong type, which do not tell users what to correct."""
CLEAR = re.compile(r"Validation error for field '\w+'|'\w+' object is not an instance of '\w+'")
"""Messages of transformers and tokenizers for a wrong type, which name both types."""


@dataclass(frozen=True)
class Case:
    """One mutation: `harm` changes files of a folder.

    `item` names what was touched, where it is one question or one entity; then all others must stay as they were.
    """

    name: str
    harm: Callable[[Path], None]
    item: str | None = None


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command; `problem` is empty if the command ended correctly."""

    code: int
    out: str
    error: str
    problem: str


class Hang(BaseException):
    """A command took too long. Not an `Exception`, so that no handler in the command catches it."""


def run(arguments: Sequence[str | Path], work: Path) -> Outcome:
    """Run a command of the command line in this process; only its output may appear in `work`."""
    before, peak = _files(work), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    problem = ""
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _limited():
            code = main([str(argument) for argument in arguments])
            out.flush()
    except SystemExit as error:
        code, problem = 2, f"usage error {error.code}"
    except (Exception, Hang):
        code, problem = 70, traceback.format_exc()[-1500:]
    printed, said = (_text(stream) for stream in (out, err))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    problem = problem or _message_problem(code, said) or (grown > MOST_MEMORY and f"{grown:,} KiB more") or ""
    if not problem and code:
        left = sorted(_files(work) - before)
        problem = f"left behind: {left[:3]}" if left else ""
    return Outcome(code, printed, said.strip().split("\n")[-1] if code else "", problem)


def _text(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(UnicodeEncodeError):  # reported already, as the command's own error
        stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]


def _message_problem(code: int, said: str) -> str:
    if code == 0:
        return ""
    lines = [line for line in re.split(r"[\n\r]", said) if ": error: " in line]
    if code != 1 or len(lines) != 1 or said.strip().split("\n")[-1].split("\r")[-1] != lines[0]:
        return f"exit code {code}, standard error ends in {said[-500:]!r}"
    if len(lines[0]) > MOST_LETTERS:
        return f"{len(lines[0]):,} letters: {lines[0][:MOST_LETTERS]}"
    return f"unclear: {lines[0]}" if UNCLEAR.search(lines[0]) and not CLEAR.search(lines[0]) else ""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def hang(*_: object) -> None:
        raise Hang(f"more than {MOST_SECONDS} seconds")

    old = signal.signal(signal.SIGPROF, hang)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def sample(cases: Sequence[Case], count: int, seed: str) -> list[Case]:
    """`count` cases in a seeded order, or all."""
    return Random(seed).sample(list(cases), min(count, len(cases)))
