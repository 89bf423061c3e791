"""Two processes on one output: the second is refused in one line or both end right, and the result is that of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from . import forks
from .commands import COMMANDS, Command, left
from .kills import difference
from .outcomes import LOST, OTHER, TRACEBACK, Outcome, judged

PART = "two writers"


def attack(world: Path, home: Path, llm: str, commands: list[Command] = COMMANDS) -> Iterator[Outcome]:
    """Each command twice at once, with the same words; one outcome for each of the two."""
    home = home / "pairs"
    for each in commands:
        each.prepare(world, home)
        alone = forks.run(each.act(world, home, llm), home.parent / "log")
        if alone.code:
            yield Outcome(PART, each.name, "alone", TRACEBACK, alone.error[-1500:])
            continue
        expected, stays = each.result(home), left(home)
        each.prepare(world, home)
        act = each.act(world, home, llm)
        both = [forks.start(act, home.parent / f"log-{n}") for n in range(2)]
        ended = [child.wait() for child in both]
        found = difference(expected, each.result(home)) if not each.changes else ""
        more = sorted(set(left(home)) - set(stays))
        found = found or (f"left behind: {more[:3]}" if more else "")
        for number, one in enumerate(ended):
            kind, detail = judged(one, found)
            yield Outcome(PART, each.name, f"process {number}", kind, detail)
        if all(one.code for one in ended):
            yield Outcome(PART, each.name, "both", LOST, f"neither ended right: {[one.last for one in ended]}")
        elif not each.changes and (found := difference(expected, each.result(home))):
            yield Outcome(PART, each.name, "both", OTHER, found)
