"""Kills at random moments, each taken up with --resume: the results are those of a training never killed."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

SETTINGS = ["--checkpoint.steps=2", "--model.dropout=0.2", "--early_stop.patience=50"]
RESULTS = (
    "bgr.json",
    *(f"{part}/model.safetensors" for part in ("encoder", "forward", "backward")),
    "forward/config.json",
)


LIMIT = 600
"""Seconds after which a run counts as hung."""


def command(words, log, cores):
    """`bgr` in a new process, which shares no lock with this one; with two cores both directions run side by side."""
    return subprocess.Popen(
        [sys.executable, "-m", "bgr", *words],
        env={**os.environ, "OMP_NUM_THREADS": str(cores)},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def ended(process):
    """The exit code of a run; one that hangs is killed, and the test fails."""
    try:
        return process.wait(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def written(out):
    """A value that changes with every checkpoint of either direction."""
    paths = sorted(out.glob("training/*ward/epochs/last.ckpt"))
    return [(path.parent, path.stat().st_mtime_ns) for path in paths]


def runs_after(process, seconds, until=lambda: False):
    """Return true if the process still runs after the given time or once the condition holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and not until():
        time.sleep(0.002)
    return process.poll() is None


def kill(process, rng):
    """In half of the cases only the parent is killed, and its children must end by themselves."""
    (os.killpg if rng.random() < 0.5 else os.kill)(process.pid, signal.SIGKILL)
    process.wait(timeout=LIMIT)


@pytest.mark.parametrize(
    ("cores", "count"),
    [
        pytest.param(1, 1, marks=pytest.mark.workflow, id="one process"),
        pytest.param(2, 1, marks=pytest.mark.slow, id="side by side"),
        pytest.param(1, 6, marks=pytest.mark.slow, id="one process, often"),
        pytest.param(2, 6, marks=pytest.mark.slow, id="side by side, often"),
    ],
)
def test_kills(config, short_data, tmp_path, cores, count):
    rng = random.Random(0)
    words = ["train", "retriever", f"--config={config(8)}", f"--data={short_data}", *SETTINGS]

    def begin(out, *more):
        with (tmp_path / f"{out.name}.log").open("ab") as log:
            return command([*words, f"--out={out}", *more], log, cores)

    def results(out):
        return [(out / name).read_bytes() for name in RESULTS]

    began = time.monotonic()
    assert ended(begin(tmp_path / "whole")) == 0, (tmp_path / "whole.log").read_text()[-2000:]
    long = time.monotonic() - began
    kills, number, inside, running = 0, 0, 0, True
    while kills < count or running:
        out = tmp_path / f"killed-{number}"
        process = begin(out, *(["--resume"] if out.exists() else []))
        if kills < count:
            # one in four wherever it is; else soon after the first checkpoint it writes
            before = written(out)
            if rng.random() < 0.25:
                running = runs_after(process, rng.uniform(0, long))
            else:
                running = runs_after(process, LIMIT, lambda out=out, before=before: written(out) != before)
                running = running and runs_after(process, rng.uniform(0, long / 10))
                inside += running
            if running:
                kill(process, rng)
                kills += 1
                print(f"kill {kills} after {time.monotonic() - began:.0f} s, in run {number}", flush=True)
                continue
        assert ended(process) == 0, (tmp_path / f"{out.name}.log").read_text()[-2000:]
        assert results(out) == results(tmp_path / "whole")
        number, running = number + 1, False
    print(f"{kills} kills, {inside} of them after a checkpoint; {number} runs finished, all with the same bytes")
    assert inside >= count / 2
