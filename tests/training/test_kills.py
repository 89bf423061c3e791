"""Kills at random moments, each taken up with --resume: the results are those of a training never killed."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import torch

from bgr.cli import main

SETTINGS = ["--checkpoint.steps=2", "--model.dropout=0.2", "--early_stop.patience=50"]
RESULTS = (
    "bgr.json",
    *(f"{part}/model.safetensors" for part in ("encoder", "forward", "backward")),
    "forward/config.json",
)


class Forked:
    """`bgr` in a fork of this process, which has everything loaded: one direction after the other."""

    def __init__(self, words, log):
        self.code = None
        self.pid = os.fork()
        if not self.pid:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            code = 70
            try:
                code = main(words)
            finally:
                os._exit(code)

    def poll(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self):
        while self.poll() is None:
            time.sleep(0.01)
        return self.code


def command(words, log):
    """`bgr` in a process of its own with two cores, and so with both directions side by side."""
    return subprocess.Popen(
        [sys.executable, "-m", "bgr.cli", *words],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


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
    group = not isinstance(process, Forked) and rng.random() < 0.5
    (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.workflow
@pytest.mark.parametrize(("start", "count"), [(Forked, 16), (command, 2)], ids=["one process", "side by side"])
def test_kills(config, short_data, tmp_path, start, count, one_thread):
    assert torch.get_num_threads() == 1  # a fork would wait for the others for ever
    rng = random.Random(0)
    words = ["train", "retriever", f"--config={config(8)}", f"--data={short_data}", *SETTINGS]

    def begin(out, *more):
        with (tmp_path / f"{out.name}.log").open("ab") as log:
            return start([*words, f"--out={out}", *more], log)

    def results(out):
        return [(out / name).read_bytes() for name in RESULTS]

    began = time.monotonic()
    assert begin(tmp_path / "whole").wait() == 0, (tmp_path / "whole.log").read_text()[-2000:]
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
                running = runs_after(process, 600, lambda out=out, before=before: written(out) != before)
                running = running and runs_after(process, rng.uniform(0, long / 10))
                inside += running
            if running:
                kill(process, rng)
                kills += 1
                print(f"kill {kills} after {time.monotonic() - began:.0f} s, in run {number}", flush=True)
                continue
        assert process.wait() == 0, (tmp_path / f"{out.name}.log").read_text()[-2000:]
        assert results(out) == results(tmp_path / "whole")
        number, running = number + 1, False
    print(f"{kills} kills, {inside} of them after a checkpoint; {number} runs finished, all with the same bytes")
    assert inside >= count / 2
