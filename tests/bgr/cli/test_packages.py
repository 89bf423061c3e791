"""Our packages are found next to a user's folders of the same names, or one line names the folder that hides them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bgr.cli import ROOT, demo

SCRIPT = str(Path(sys.executable).with_name("bgr"))
WAYS = {"bgr": [SCRIPT], "-m bgr": [sys.executable, "-m", "bgr"]}


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """The working folder of a project with packages of the same names, which end the process when they are imported."""
    for name in ("eval", "training", "configs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    monkeypatch.chdir(tmp_path)
    # the checkout itself, as if it were installed; the working folder comes before it with -m
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def call(way, *words):
    return subprocess.run([*WAYS[way], *map(str, words)], capture_output=True, text=True, check=False)


@pytest.mark.workflow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("words", ["evaluate", "train retriever", "bench kopl", "demo"])
def test_help_in_a_folder_with_packages_of_the_same_names(own_folder, way, words):
    done = call(way, *words.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: bgr {words}")


def test_a_package_that_hides_ours_is_one_line(own_folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(own_folder), str(ROOT)]))
    done = call("-m bgr", "evaluate", "--data", "data")
    assert (done.returncode, done.stdout) == (1, "")
    hidden = own_folder / "training" / "__init__.py"
    assert done.stderr.startswith(f"bgr evaluate: error: {hidden} hides the package 'training' of bgr; rename it")
    assert done.stderr.count("\n") == 1
    assert call("-m bgr", "data", "--help").returncode == 0


@pytest.mark.workflow
def test_an_evaluation_in_such_a_folder(own_folder, toy_data):
    done = call("bgr", "evaluate", "--data", toy_data, "--baselines", "random", "--out", "report", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["systems"]["random"]["all"]["n"] > 0
    assert (own_folder / "report" / "metrics.json").is_file()


@pytest.mark.workflow
def test_steps_of_the_demo_in_such_a_folder(own_folder, toy_data, capfd):
    report = own_folder / "report"
    for _ in range(2):
        demo._step(report, "evaluate", "--data", toy_data, "--baselines", "random", "--out", report)
    assert (report / "metrics.json").is_file()
    out = capfd.readouterr().out
    assert out.count("\n$ bgr evaluate --data") == 1
    assert f"{report} exists: this step is not repeated" in out
