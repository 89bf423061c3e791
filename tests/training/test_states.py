"""The cache of the states of frozen layers, which all runs of an encoder share, and where it is."""

import os
import re

import pytest

from bgr.errors import BgrError
from training.run import Run, with_states

FROZEN = {"model": {"frozen_layers": 1}}


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "config.yaml", tmp_path / "data", tmp_path / "run")


def _counts(capsys, line):
    """The sentences found and computed, of the only line about them."""
    [found] = [text for text in capsys.readouterr().err.splitlines() if line in text]
    return tuple(map(int, re.search(r"; (\d+) sentences found, (\d+) computed$", found).groups()))


@pytest.mark.workflow
def test_another_run_with_other_data_computes_only_what_is_new(train, write_config, toy_data, tmp_path, capsys):
    from bgr.cli import main

    def written():
        [index] = (tmp_path / "states").glob("*/index.bin")
        return index.stat()

    states = f"--states={tmp_path / 'states'}"
    assert train(tmp_path / "one", states, epochs=1) == 0
    line = f"states of frozen layers: {tmp_path / 'states' / 'frozen-'}"
    assert _counts(capsys, line)[0] == 0
    first = written()
    assert train(tmp_path / "two", states, "--data.limit=20", epochs=1) == 0
    assert _counts(capsys, line)[1] == 0
    words = ["--config", str(write_config("dpr", "kind: dpr", 1)), "--data", str(toy_data), states]
    assert main(["train", "baseline", *words, "--out", str(tmp_path / "dpr")]) == 0
    assert _counts(capsys, line)[1] == 0
    assert (written().st_size, written().st_mtime_ns) == (first.st_size, first.st_mtime_ns)
    assert not (tmp_path / "one" / "training" / "states").exists()


def test_the_option_comes_before_the_environment(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BGR_CACHE", str(tmp_path / "cache"))
    assert with_states(run, tmp_path / "own", FROZEN).states_folder == tmp_path / "own"
    assert with_states(run, None, FROZEN).states_folder == tmp_path / "cache" / "states"
    monkeypatch.delenv("BGR_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert with_states(run, None, FROZEN).states_folder == tmp_path / ".cache" / "bgr" / "states"


def test_a_chosen_folder_that_cannot_be_written_is_refused(run, train, tmp_path, monkeypatch, refused):
    (tmp_path / "file").touch()
    refused(
        train(tmp_path / "run", f"--states={tmp_path / 'file' / 'states'}"), "states: cannot be written: Not a", "run"
    )
    monkeypatch.setenv("BGR_CACHE", os.devnull)
    with pytest.raises(BgrError, match=r"BGR_CACHE=/dev/null: cannot be written: .* --states DIR"):
        with_states(run, None, FROZEN)


def test_a_home_that_cannot_be_written_leaves_the_run_folder(run, monkeypatch, capsys):
    monkeypatch.delenv("BGR_CACHE")
    monkeypatch.setenv("HOME", os.devnull)
    assert with_states(run, None, FROZEN).states_folder == run.out / "training" / "states"
    assert "because /dev/null/.cache/bgr/states cannot be written: Not a directory" in capsys.readouterr().err


def test_without_frozen_layers_no_folder_is_made(run, tmp_path):
    for settings in ({}, {"model": {"frozen_layers": 0}}):
        with_states(run, tmp_path / "states", settings)
    assert not (tmp_path / "states").exists()
