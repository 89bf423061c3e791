"""A training that diverges stops with one line and keeps its last valid checkpoint."""

import multiprocessing

import pytest
import torch

from training.retriever.train import train_direction
from training.run import Run


def error(capsys):
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("bgr train: error: ")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.workflow
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_learning_rate_far_too_high(train, tmp_path, capsys, one_thread, precision):
    words = [f"--trainer.precision={precision}", "--checkpoint.steps=1"]
    assert train(tmp_path / "run", "--model.learning_rate=1e30", *words) == 1
    said = error(capsys)
    assert "forward: the " in said
    assert "at step 3 (epoch 1)" in said  # the first step's rate is 0, the second one ruins the weights
    assert "--model.learning_rate" in said
    assert "the checkpoint of step 1 is kept" in said
    last = torch.load(tmp_path / "run" / "training" / "forward" / "epochs" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 1
    assert all(value.abs().max() < 1e3 for value in last["state_dict"].values())
    # with a suitable learning rate it resumes from there
    assert train(tmp_path / "run", "--resume", *words) == 0
    assert (tmp_path / "run" / "bgr.json").exists()


def test_before_the_first_checkpoint(train, tmp_path, capsys, one_thread):
    assert train(tmp_path / "run", "--model.learning_rate=1e30") == 1
    assert "no checkpoint was written yet, --overwrite starts again" in error(capsys)
    assert not (tmp_path / "run" / "bgr.json").exists()


def test_on_dev_after_the_last_step(train, tmp_path, capsys, one_thread):
    assert train(tmp_path / "run", "--model.learning_rate=1e30", "--data.batch_size=30", epochs=1) == 1
    said = error(capsys)
    assert "forward: the dev loss is nan at step 1 (epoch 1)" in said
    assert not (tmp_path / "run" / "training" / "forward" / "epochs" / "last.ckpt").exists()


@pytest.mark.workflow
def test_side_by_side_the_message_arrives_and_the_other_direction_ends(config, short_data, train, tmp_path, capsys):
    run = Run(config(1), short_data, tmp_path / "run")
    for direction in ("forward", "backward"):
        train_direction(run, direction, lambda message: None)
    last = run.home("forward") / "epochs" / "last.ckpt"
    state = torch.load(last, weights_only=True)
    state["state_dict"]["model.matcher.out.2.weight"].fill_(float("nan"))
    torch.save(state, last)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert train(run.out, "--resume", epochs=100_000) == 1
    finally:
        torch.set_num_threads(before)
    said = error(capsys)
    assert "forward: the loss is nan at step 6 (epoch 2)" in said
    assert "the checkpoint of step 5 is kept" in said
    assert not multiprocessing.active_children()
