"""Full disks, read-only folders, little memory, clocks that jump, and inputs that change under a resumed run."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from ..conftest import write_toy_data
from . import forks
from .commands import Command, left
from .kills import difference
from .outcomes import LINE, LOST, OTHER, TRACEBACK, Outcome, judged

NOBODY = 65534
SIZES = (16 << 10, 48 << 10)
"""Bytes after which a file cannot grow; progress and the error go to a file too, which has a few thousand."""
SPACE = 64 << 10
"""Bytes of a small disk."""
MEMORY = (256, 512)
"""Further mebibytes of addresses that a command may use. In between, PyTorch's matrix products may end by a signal."""


def full_disks(world: Path, home: Path, llm: str, commands: list[Command]) -> Iterator[Outcome]:
    """Limits of file sizes, a small disk where one can be mounted, and standard output that is full. What was there
    before stays, and the repetition with enough space ends right."""
    part, home = "full disk", home / "disk"
    for each in commands:
        each.prepare(world, home)
        whole = forks.run(each.act(world, home, llm), home.parent / "log")
        expected = each.result(home)
        for size in SIZES:
            each.prepare(world, home)
            before = each.result(home)
            ended = forks.run(forks.limited(each.act(world, home, llm), FSIZE=size), home.parent / "log")
            yield _refused_or_right(part, each, f"files of {size >> 10} KiB", ended, before, expected, home)
            if ended.code and whole.code == 0:
                again = forks.run(each.act(world, home, llm, again=(home / "out").exists()), home.parent / "log")
                kind, detail = judged(again, difference(expected, each.result(home)))
                yield Outcome(part, each.name, "again", LOST if kind == LINE else kind, detail)
        if (disk := _mounted(home.parent / "small")) is not None:
            try:
                each.prepare(world, disk / "home")
                before = each.result(disk / "home")
                ended = forks.run(each.act(world, disk / "home", llm), home.parent / "log")
                yield _refused_or_right(part, each, f"a disk of {SPACE >> 10} KiB", ended, before, None, disk / "home")
            except OSError:
                pass  # what the command changes does not fit
            finally:
                subprocess.run(["umount", str(disk)], check=False)
        each.prepare(world, home)
        ended = forks.run(_printing_to_a_full_device(each.act(world, home, llm)), home.parent / "log")
        found = "" if ended.code else "exit code 0 although nothing could be printed"
        yield Outcome(part, each.name, "standard output", *judged(ended, found))


def _printing_to_a_full_device(act: forks.Act) -> forks.Act:
    def inside() -> int:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        return act()

    return inside


def _mounted(folder: Path) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={SPACE}", "tmpfs", str(folder)]
    return folder if subprocess.run(words, check=False, capture_output=True).returncode == 0 else None


def _refused_or_right(
    part: str,
    each: Command,
    case: str,
    ended: forks.Ended,
    before: dict[str, str],
    expected: dict[str, str] | None,
    home: Path,
) -> Outcome:
    """Right, or one line; then what was there before is as it was."""
    found = each.result(home)
    kind, detail = judged(ended, difference(expected, found) if expected is not None else "")
    lost = [name for name, value in before.items() if found.get(name) != value]
    if kind == LINE and lost:
        kind, detail = LOST, f"{detail}: changed before it failed: {lost[:3]}"
    if kind == LINE and not each.changes and not each.again and "predict" not in each.name:
        more = [name for name in left(home) if not name.endswith((".lock", ".part"))]
        if more:
            kind, detail = OTHER, f"left behind: {more[:3]}"
    return Outcome(part, each.name, case, kind, detail)


def read_only_folders(world: Path, home: Path, llm: str, commands: list[Command]) -> Iterator[Outcome]:
    """A folder that another user owns; root writes everywhere, so the command gives its rights up."""
    part, home = "read-only folder", home / "read-only"
    for each in commands:
        each.prepare(world, home)
        for path in (home, *home.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = each.result(home)
        ended = forks.run(_as_nobody(each.act(world, home, llm), home.parent), home.parent / "log")
        kind, detail = judged(ended, "it wrote where it may not")
        if each.result(home) != before:
            kind, detail = LOST, "something changed"
        yield Outcome(part, each.name, "of another user", kind, detail)
        for path in (home, *home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def _as_nobody(act: forks.Act, home: Path) -> forks.Act:
    def inside() -> int:
        os.environ["HOME"] = str(home / "nowhere")
        if os.getuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        return act()

    return inside


def little_memory(world: Path, home: Path, llm: str, commands: list[Command]) -> Iterator[Outcome]:
    """Less memory than the command needs: right, or one line that says what to lower."""
    part, home = "little memory", home / "memory"
    for each in commands:
        each.prepare(world, home)
        before = each.result(home)
        for size in MEMORY:
            each.prepare(world, home)
            ended = forks.run(_with_memory(each.act(world, home, llm), size << 20), home.parent / "log")
            kind, detail = judged(ended, "")
            if kind == LINE and not any(word in detail for word in ("lower", "memory")):
                kind, detail = TRACEBACK, f"it does not say what to lower: {detail}"
            if kind == LINE and any(each.result(home).get(name) != value for name, value in before.items()):
                kind = LOST
            yield Outcome(part, each.name, f"{size} MiB more", kind, detail)


def _with_memory(act: forks.Act, more: int) -> forks.Act:
    def inside() -> int:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        return forks.limited(act, AS=size + more)()

    return inside


def clock_jumps(world: Path, home: Path, llm: str, commands: list[Command], seed: int) -> Iterator[Outcome]:
    """A clock that jumps by up to ten years, in both directions: the result is the same."""
    part, home = "clock jumps", home / "clock"
    for each in commands:
        each.prepare(world, home)
        forks.run(each.act(world, home, llm), home.parent / "log")
        expected = each.result(home)
        each.prepare(world, home)
        act = _with_jumps(each.act(world, home, llm), random.Random(f"{seed}|{each.name}"))
        ended = forks.run(act, home.parent / "log")
        yield Outcome(part, each.name, "ten years", *judged(ended, difference(expected, each.result(home))))


def _with_jumps(act: forks.Act, rng: random.Random) -> forks.Act:
    def inside() -> int:
        import time

        real, ten_years = time.time, 10 * 365 * 86_400.0
        time.time = lambda: real() + rng.uniform(-ten_years, ten_years)
        return act()

    return inside


def _more_questions(world: Path) -> None:
    shutil.rmtree(world / "data")
    ended = forks.run(lambda: write_toy_data(world / "data", 20, 7, 6) or 0, world / "log")
    assert ended.code == 0, ended.error


def _drop_last(name: str) -> Callable[[Path], None]:
    def change(world: Path) -> None:
        path = world / name
        if path.suffix == ".jsonl":
            path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
        else:
            path.write_text(json.dumps(json.loads(path.read_text())[:-1]))

    return change


CHANGES: dict[str, Callable[[Path], None]] = {
    "data build": _drop_last("source/train.json"),
    "train retriever": _more_questions,
    "train baseline": _more_questions,
    "train reader": _more_questions,
    "collection build": _drop_last("corpus.jsonl"),
    "collection add": _drop_last("more.jsonl"),
    "compare": _drop_last("passages.json"),
    "predict": _drop_last("asked.jsonl"),
}
"""A change of an input, by command."""


def changed_inputs(world: Path, home: Path, llm: str, commands: list[Command], seed: int) -> Iterator[Outcome]:
    """An input changes after a kill: the repetition is refused, or its result is that of the changed input."""
    part = "changed input"
    for each in (one for one in commands if one.name in CHANGES):
        rng, work, other = random.Random(f"{seed}|{each.name}"), home / "changed", home / "other"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(world, other, symlinks=True)
        CHANGES[each.name](other)
        each.prepare(other, work)
        # the same path, so that it cannot be told by its name
        log = home / "changes.json"
        whole = forks.run(forks.killed_at(each.act(other, work, llm), work, None, log), home / "log")
        if whole.code:
            yield Outcome(part, each.name, "not killed", TRACEBACK, whole.error[-1500:])
            continue
        expected, changes = each.result(work), json.loads(log.read_text())
        changed = home / "kept"
        shutil.rmtree(changed, ignore_errors=True)
        for attempt in range(2):
            each.prepare(world, work)
            other.rename(changed)
            shutil.copytree(world, other, symlinks=True)
            at = rng.randrange(changes // 3, max(changes // 3 + 1, changes))
            forks.run(forks.killed_at(each.act(other, work, llm), work, at), home / "log")
            shutil.rmtree(other)
            changed.rename(other)
            again = each.act(other, work, llm, again=(work / "out").exists())
            ended = forks.run(again, home / "log")
            found = each.result(work)
            # this file also keeps the results of a question that is no longer asked
            found["out/results.jsonl"] = expected.get("out/results.jsonl", "")
            kind, detail = judged(ended, difference({"out/results.jsonl": "", **expected}, found))
            yield Outcome(part, each.name, f"attempt {attempt}, killed before change {at}", kind, detail)
