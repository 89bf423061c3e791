"""Kills at random moments: repeated, a command ends with the bytes of one that was never killed, and leaves nothing.

Half of the kills come at a random time, half just before a random change on disk. A few commands are started as users
start them, in a new Python; the others are forks, which begin at once.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import forks
from .commands import Command, left
from .outcomes import LINE, LOST, OTHER, RIGHT, TRACEBACK, Outcome, judged

PART = "kill -9"


def attack(world: Path, home: Path, llm: str, count: int, seed: int, commands: list[Command]) -> Iterator[Outcome]:
    """`count` kills, spread evenly over the commands; one outcome for each kill."""
    for number, each in enumerate(commands):
        share = count // len(commands) + (number < count % len(commands))
        if share:
            yield from _killed(each, world, home / "kills", llm, share, random.Random(f"{seed}|{each.name}"))


def _killed(each: Command, world: Path, home: Path, llm: str, count: int, rng: random.Random) -> Iterator[Outcome]:
    each.prepare(world, home)
    log = home.parent / "changes.json"
    whole = forks.run(forks.killed_at(each.act(world, home, llm), home, None, log), home.parent / "log")
    if whole.code:
        yield Outcome(PART, each.name, "not killed", TRACEBACK, whole.error[-1500:])
        return
    expected, stays, changes = each.result(home), left(home), json.loads(log.read_text())
    kills = 0
    while kills < count:
        each.prepare(world, home)
        cases: list[str] = []
        while kills + len(cases) < count and (not cases or rng.random() < 0.6):
            act = each.act(world, home, llm, again=(home / "out").exists() and bool(cases))
            case = _kill_once(act, home, rng, whole.seconds, changes)
            if not case:
                break  # it ended before
            cases.append(case)
        again = each.act(world, home, llm, again=(home / "out").exists() and bool(cases))
        if not _done(each, home, expected):
            ended = forks.run(again, home.parent / "log")
            kind, detail = judged(ended, difference(expected, each.result(home)))
            if kind == LINE:  # a repetition must end right; what was complete is not made twice
                complete = expected.items() <= each.result(home).items()
                kind, detail = (RIGHT, "") if complete else (LOST, detail)
        else:
            kind, detail = RIGHT, ""
        if kind == RIGHT and (found := sorted(set(left(home)) - set(stays))):
            kind, detail = OTHER, f"left behind: {found[:3]}"
        kills += len(cases)
        for number, case in enumerate(cases):
            last = number == len(cases) - 1
            yield Outcome(
                PART, each.name, case, kind if last else RIGHT, f"{cases}: {detail}" if last and detail else ""
            )


def _done(each: Command, home: Path, expected: dict[str, str]) -> bool:
    """Whether the command was killed only after its result was complete (or ended before it could be killed)."""
    return not each.again and not each.changes and each.result(home) == expected and not left(home)


def _kill_once(act: forks.Act, home: Path, rng: random.Random, seconds: float, changes: int) -> str:
    """Start a command and kill it; gives the moment, or nothing if it ended before."""
    if rng.random() < 0.5:
        at = rng.randrange(max(1, changes))
        ended = forks.run(forks.killed_at(act, home, at), home.parent / "log")
        return f"before change {at}" if ended.code == -9 and not ended.hung else ""
    child = forks.start(act, home.parent / "log")
    moment = rng.uniform(0, seconds)
    end = time.monotonic() + moment
    while time.monotonic() < end and child.poll() is None:
        time.sleep(0.002)
    if child.poll() is not None:
        return ""
    child.kill()
    return f"after {moment:.2f} s" if child.code == -9 else ""


def difference(expected: dict[str, str], found: dict[str, str]) -> str:
    names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
    return f"other files: {names[:5]}" if names else ""


def fresh(world: Path, home: Path, llm: str, seed: int, commands: list[Command]) -> Iterator[Outcome]:
    """One kill of each command as users start it."""
    home = home / "fresh"
    for each in commands:
        rng = random.Random(f"{seed}|fresh|{each.name}")
        each.prepare(world, home)
        whole = forks.run(each.act(world, home, llm), home.parent / "log")
        expected = each.result(home)
        each.prepare(world, home)
        words = [word.format(world=world, home=home, out=home / "out", llm=llm) for word in each.words.split()]
        environment = {**os.environ, "BGR_CACHE": str(home / "cache")}
        process = subprocess.Popen(
            [sys.executable, "-m", "bgr", *words], env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        began = time.monotonic()
        while process.poll() is None and not any(home.iterdir()) and time.monotonic() - began < forks.SECONDS:
            time.sleep(0.005)  # the imports take the most of the time, and write nothing
        time.sleep(rng.uniform(0, whole.seconds))
        killed = process.poll() is None
        if killed:
            os.killpg(process.pid, 9)
        process.wait(forks.SECONDS)
        act = each.act(world, home, llm, again=(home / "out").exists() and killed)
        if _done(each, home, expected):
            kind, detail = RIGHT, ""
        else:
            kind, detail = judged(forks.run(act, home.parent / "log"), difference(expected, each.result(home)))
        yield Outcome(PART, each.name, "a new Python", LOST if kind == LINE else kind, detail)
