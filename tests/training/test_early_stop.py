import shutil
from dataclasses import replace

import pytest
from safetensors.torch import load_file

from training.callbacks import Epoch, Progress, Stop
from training.retriever.train import train_direction
from training.run import Run

STILL = ["--model.learning_rate=0", "--model.encoder_learning_rate=0"]  # so that the score stays as it is


def reports(run):
    messages = []
    train_direction(run, "forward", messages.append)
    return [message for message in messages if not isinstance(message, Progress)]  # those of a busy machine


@pytest.mark.workflow
def test_stops_when_the_score_no_longer_rises_and_stays_stopped(config, short_data, tmp_path):
    run = Run(config(9), short_data, tmp_path / "run", [*STILL, "--early_stop.patience=2"])
    *epochs, stop = reports(run)
    assert [epoch.number for epoch in epochs] == [1, 2, 3]
    best = epochs[0].metrics["dev/score"]
    assert stop == Stop("forward", 3, 9, waited=2, best=best)
    assert "forward   stopped early after epoch 3/9: 2 epochs without a better dev score" in stop.line()
    # killed between the decision to stop and saving the weights
    weights = load_file(run.out / "forward" / "model.safetensors")
    shutil.rmtree(run.out / "forward")
    assert not [message for message in reports(replace(run, resume=True)) if isinstance(message, Epoch)]
    again = load_file(run.out / "forward" / "model.safetensors")
    assert all((again[name] == weights[name]).all() for name in weights)
    # with more patience it continues and remembers how long it has waited
    patient = replace(run, resume=True, overrides=[*STILL, "--early_stop.patience=3"])
    assert [message.number for message in reports(patient)] == [4, 4]


@pytest.mark.workflow
def test_off_by_default(config, short_data, tmp_path):
    run = Run(config(3), short_data, tmp_path / "run", STILL)
    assert [message.number for message in reports(run)] == [1, 2, 3]


def test_no_negative_patience(train, tmp_path, capsys):
    assert train(tmp_path / "run", "--early_stop.patience=-1") == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert "patience" in said[-1]
    assert not (tmp_path / "run").exists()
