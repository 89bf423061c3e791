"""Builds of a dataset, each killed (SIGKILL) just before a different change on disk, and started again.

python killed_builds.py SOURCE ENCODER WORK FIRST STEP   prints JSON: an unharmed build's hash, and the outcome of every
STEP-th moment from FIRST on

A process of its own, because it forks: no thread may run in it before. What a build has on disk changes only where it
opens a file to write, renames, removes or makes a folder; a kill before each of these leaves every state there is.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from transformers import AutoTokenizer, BertModel  # noqa: F401

from bgr.cli import main
from bgr.collection import embedding as vector_store

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
CHUNK = 40


def forked(act: Callable[[], int]) -> int:
    """Run in a child process; returns its exit code, negative if a signal ended it."""
    child = os.fork()
    if not child:
        code = 70
        try:
            code = act()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def watched(act: Callable[[], int], folder: Path, at: int | None, log: Path) -> int:
    """Kill this process just before change number `at` (from 0) in `folder`; `log` gets the number of changes."""
    count = 0

    def watch(event: str, args: tuple) -> None:
        nonlocal count
        writes = event in CHANGES or (event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and isinstance(args[0], str | os.PathLike) and os.fspath(args[0]).startswith(str(folder)):
            if count == at:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.addaudithook(watch)
    code = act()
    total = count
    log.write_text(str(total))
    return code


def build(source: Path, encoder: Path, recipe: str, out: Path) -> int:
    paths = ["--kqapro", str(source), "--similarity", str(encoder), "--out", str(out)]
    return main(["data", "build", "--recipe", recipe, *paths])


def sha256(out: Path) -> str:
    return json.loads((out / "dataset.json").read_text())["sha256"]


def killed_and_again(act: Callable[[Path], int], folder: Path, moment: int) -> dict[str, object]:
    """The outcome of a build that was killed and started again; one killed after its last step is complete."""
    out = folder / "data"
    first = forked(lambda: watched(lambda: act(out), folder, moment, folder / "log"))
    chunks = len(list(folder.glob("data.part/*.vectors")))
    whole = out.exists()
    again = 0 if whole else forked(lambda: act(out))
    return {
        "first": first,
        "again": again,
        "chunks": chunks,
        "whole": whole,
        "hash": sha256(out),
        "left": [] if whole else [path.name for path in folder.glob("*.part")],
    }


def run(source: Path, encoder: Path, work: Path, recipe: str, first: int, step: int) -> dict[str, object]:
    vector_store.VectorStore = functools.partial(vector_store.VectorStore, chunk=CHUNK)  # type: ignore[misc]
    calm = work / "calm"
    calm.mkdir()
    act = functools.partial(build, source, encoder, recipe)
    code = forked(lambda: watched(lambda: act(calm / "data"), calm, None, work / "log"))
    total = int((work / "log").read_text())
    outcomes = []
    for moment in range(first, total, step):
        folder = work / str(moment)
        folder.mkdir()
        outcomes.append(killed_and_again(act, folder, moment))
    return {"code": code, "moments": total, "hash": sha256(calm / "data"), "outcomes": outcomes}


if __name__ == "__main__":
    report = sys.stdout
    sys.stdout = sys.stderr
    print(json.dumps(run(*map(Path, sys.argv[1:4]), sys.argv[4], *map(int, sys.argv[5:7]))), file=report)
