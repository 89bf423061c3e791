"""The failure of one direction ends the other one, however that behaves."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bgr.errors import BgrError
from training.callbacks import Epoch
from training.retriever import side_by_side


def stubborn_or_dying(direction, report):
    """The forward direction reports constantly and ignores signals; then the backward one dies silently."""
    reported = Path(os.environ["REPORTED"])
    if direction == "backward":
        while not reported.exists():
            time.sleep(0.02)
        time.sleep(0.5)
        os._exit(3)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in range(1, 10**6):
        report(Epoch(direction, number, 10**6, {}))
        reported.touch()
        time.sleep(0.02)


@pytest.mark.workflow
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_death_is_seen_among_many_reports_and_the_other_is_ended(monkeypatch, capsys, tmp_path, start):
    monkeypatch.setenv("REPORTED", str(tmp_path / "reported"))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))  # where a new process finds this file
    monkeypatch.setattr(side_by_side, "PATIENCE", 0.5)
    if start == "fork":  # new processes load Lightning first; forked ones have it
        fork = multiprocessing.get_context("fork")
        monkeypatch.setattr(multiprocessing, "get_context", lambda _: fork)
    with pytest.raises(BgrError, match="backward: its process ended with exit code 3"):
        side_by_side.in_processes(stubborn_or_dying, ("forward", "backward"), bar=False)
    assert not multiprocessing.active_children()
    assert "forward   epoch 1/1000000" in capsys.readouterr().err


@pytest.mark.slow
def test_a_users_own_packages_do_not_hide_ours_from_the_two_processes(config, toy_data, tmp_path):
    for name in ("eval", "training", "configs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    words = ["train", "retriever", "--config", config(1), "--data", toy_data, "--out", "run"]
    command = [sys.executable, "-m", "bgr", *map(str, words)]
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "2"}
    done = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "bgr.json").is_file()
