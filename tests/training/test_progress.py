"""Progress within epochs: what a training reports, and what two processes show of it."""

import multiprocessing

import pytest
from tqdm import tqdm

from bgr.utils import progress
from training.callbacks import Epoch, Progress, Stop
from training.retriever import side_by_side
from training.retriever.train import train_direction
from training.run import Run


@pytest.fixture
def every_tenth(monkeypatch):
    """Also of a training of less than two seconds."""
    monkeypatch.setattr(progress, "SECONDS", 0)


@pytest.mark.workflow
@pytest.mark.usefixtures("every_tenth")
def test_a_direction_reports_its_epochs_from_within(config, toy_data, tmp_path):
    messages = []
    train_direction(Run(config(2), toy_data, tmp_path / "run"), "forward", messages.append)
    found = [message for message in messages if isinstance(message, Progress)]
    # an epoch is 5 batches, and its end has its own report
    assert [(m.number, m.of, m.epoch_share, m.share) for m in found] == [
        (number, 2, step / 5, (5 * number - 5 + step) / 10) for number in (1, 2) for step in (1, 2, 3, 4)
    ]
    assert all(m.left > 0 for m in found)
    assert messages.index(found[3]) < [isinstance(m, Epoch) for m in messages].index(True) < messages.index(found[4])


@pytest.mark.workflow
@pytest.mark.usefixtures("every_tenth")
def test_a_resumed_direction_continues_its_shares(config, toy_data, tmp_path):
    one = Run(config(1), toy_data, tmp_path / "run")
    train_direction(one, "forward", lambda _: None)
    two, messages = Run(config(2), toy_data, tmp_path / "run", resume=True), []
    train_direction(two, "forward", messages.append)
    assert [m.share for m in messages if isinstance(m, Progress)] == [0.6, 0.7, 0.8, 0.9]


@pytest.mark.workflow
@pytest.mark.usefixtures("every_tenth")
def test_accumulated_batches_are_reported_once(config, toy_data, tmp_path):
    messages = []
    run = Run(config(1), toy_data, tmp_path / "run", ["--trainer.accumulate_grad_batches=2"])
    train_direction(run, "forward", messages.append)
    found = [m.epoch_share for m in messages if isinstance(m, Progress)]
    # three steps of two batches; nothing is known about the time before the first step
    assert found == [2 / 6, 3 / 6, 4 / 6, 5 / 6]


def reporting(direction, report):
    report(Progress(direction, 1, 2, 0.5, 0.25, 83.0))
    report(Epoch(direction, 1, 2, {"dev/score": 0.5}))


def test_two_processes_write_lines_to_a_file(monkeypatch, capsys):
    fork = multiprocessing.get_context("fork")  # new processes would load Lightning first
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: fork)
    side_by_side.in_processes(reporting, ("forward", "backward"))
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "backward  epoch 1/2  50 %, 01:23 left",
        "backward  epoch 1/2  dev/score 0.500",
        "forward   epoch 1/2  50 %, 01:23 left",
        "forward   epoch 1/2  dev/score 0.500",
    ]


def test_on_a_terminal_one_bar_has_both(tmp_path):
    shares, notes = {"forward": 0.0, "backward": 0.0}, {"forward": "", "backward": ""}
    with (tmp_path / "bar").open("w") as file, tqdm(total=2, file=file) as bar:
        for message in (Progress("backward", 1, 2, 0.5, 0.25, 83.0), Epoch("forward", 1, 2, {})):
            side_by_side._show(bar, message, shares, notes)
        assert bar.n == 0.75
        assert bar.postfix == "forward 50 %; backward 25 %, 01:23 left"
        side_by_side._show(bar, Stop("forward", 1, 2, 1, 0.5), shares, notes)
        assert bar.n == 1.25
