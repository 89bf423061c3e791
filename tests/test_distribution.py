"""Wheel and sdist: built, checked, and installed in a new environment outside of the checkout."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from bgr import __version__
from tests.environments import link_packages

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[1]
QUESTION = "Which film by the director of Alien came out in 1982?"
SOURCES = ("bgr", "training", "eval", "configs", "checkpoints", "pyproject.toml", "README.md", "LICENSE")


def run(*words, cwd, timeout=300, **environment):
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=timeout, env=clean_environment(environment)
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def clean_environment(others):
    """The environment without what leads to the checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | others


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist of a copy of the sources; the wheel is made from the sdist, as `python -m build` does."""
    home = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, home / name)
    # what a user keeps there is no part of the package
    (home / "checkpoints" / "own").mkdir()
    (home / "checkpoints" / "own" / "model.safetensors").write_text("x")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", home / "dist", ".", cwd=home)
    (wheel,), (sdist,) = (home / "dist").glob("*.whl"), (home / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """``installed("bgr", "--version")``: a program of a new environment with the wheel, run in a folder outside of the
    checkout. It has the packages of the extras `demo` and `serve`, by links, so that nothing is downloaded."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home / "env", with_pip=False)
    python = home / "env" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", built[0], cwd=home)
    packages = next((home / "env" / "lib").glob("python*/site-packages"))
    # a line of a .pth file adds a folder behind the environment's own
    link_packages(home / "packages", "demo", "serve")
    (packages / "shared.pth").write_text(f"{home / 'packages'}\n")

    def call(program, *words, cwd=home, **options):
        return run(home / "env" / "bin" / program, *words, cwd=cwd, BGR_CACHE=str(home / "cache"), **options)

    call.home, call.packages = home, packages
    return call


def test_wheel_and_sdist_pass_the_checks_of_the_index(built):
    run(sys.executable, "-m", "twine", "check", "--strict", *built, cwd=ROOT)


def test_the_wheel_holds_the_packages_and_their_data_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"bgr", "training", "eval", "configs", "checkpoints", f"bgr-{__version__}.dist-info"}
    sources = {
        path.relative_to(ROOT).as_posix()
        for top in ("bgr", "training", "eval", "configs", "checkpoints/atlas", "checkpoints/atlas-collection")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources - names == set()
    assert {name for name in names if not name.startswith(f"bgr-{__version__}")} - sources == {"checkpoints/README.md"}
    assert built[0].stat().st_size < 40e6


def test_the_sdist_is_enough_to_build_the_wheel(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "bgr/__init__.py", "configs/demo.yaml"} <= names
    assert not [name for name in names if name.startswith("checkpoints/own/")]


def test_the_installed_package_is_the_one_of_the_wheel(installed):
    place = installed("python", "-c", "import bgr, training, eval, configs; print(bgr.__file__)")
    assert Path(place.strip()).is_relative_to(installed.packages)
    assert installed("bgr", "--version") == f"bgr {__version__}\n"
    assert "completion" in installed("bgr", "--help")
    assert "_shtab_bgr" in installed("bgr", "completion", "bash")


def test_the_first_answer_needs_nothing_else(installed):
    found = json.loads(installed("bgr", "ask", QUESTION, "--json"))
    assert found["answer"] == "Blade Runner"
    assert len(found["edges"]) == 3
    assert "Blade Runner (confidence" in installed("bgr", "ask", QUESTION)


def test_a_short_training(installed, toy_data, encoder_folder):
    words = ["--config", "demo", "--data", toy_data, "--out", "run", "--trainer.max_epochs=1"]
    installed(
        "bgr",
        "train",
        "retriever",
        *words,
        f"--model.encoder={encoder_folder}",
        "--model.frozen_layers=1",
        "--data.hard=0",
    )
    sample = json.loads((toy_data / "test.jsonl").read_text().splitlines()[0])
    (installed.home / "facts.txt").write_text("\n".join(sample["facts"]))
    asked = installed("bgr", "ask", sample["question"], "--checkpoint", "run", "--facts", "facts.txt", "--json")
    assert json.loads(asked)["question"] == sample["question"]


def test_the_server_answers_and_stops(installed):
    environment = clean_environment({"BGR_CACHE": str(installed.home / "cache")})
    process = subprocess.Popen(
        [installed.home / "env" / "bin" / "bgr", "serve", "--port", "0"],
        cwd=installed.home,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = iter(process.stderr.readline, "")
        address = next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        body = json.dumps({"question": QUESTION}).encode()
        request = urllib.request.Request(f"{address}/v1/answer", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert "Blade Runner" in reply.read().decode()
        with urllib.request.urlopen(f"{address}/", timeout=60) as page:
            assert "<html" in page.read().decode()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0
