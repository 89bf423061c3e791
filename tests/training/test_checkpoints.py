from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bgr.errors import BgrError
from training.callbacks import AtomicFiles, Epoch
from training.retriever.module import BgrModule
from training.retriever.train import train_direction
from training.run import Run, read_checkpoint


class Stopped(Exception):
    pass


@contextmanager
def stop_at(number):
    """The training ends with `Stopped` before the batch of that index."""
    usual = BgrModule.on_train_batch_start

    def stop(self, batch, batch_idx):
        if self.current_epoch * self.trainer.num_training_batches + batch_idx == number:
            raise Stopped
        usual(self, batch, batch_idx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BgrModule, "on_train_batch_start", stop)
        yield


def weights(run):
    return load_file(run.out / "forward" / "model.safetensors")


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.workflow
@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--trainer.accumulate_grad_batches=2", "--trainer.gradient_clip_val=0.1", "--trainer.precision=bf16-mixed"],
        ["--model.matrix_learning_rate=1e-2"],
    ],
    ids=["plain", "accumulated, clipped, bf16", "Muon"],
)
def test_goes_on_inside_an_epoch(config, short_data, tmp_path, more):
    words = ["--model.dropout=0.3", "--checkpoint.steps=1", *more]
    whole, parts = (Run(config(3), short_data, tmp_path / name, words) for name in ("whole", "parts"))
    train_direction(whole, "forward", lambda message: None)
    assert sorted(p.name for p in (whole.home("forward") / "epochs").iterdir())[1:] == ["last.ckpt"]
    for number in (4, 7, 9, 13):  # of 15, or of 18 where two make a step
        with stop_at(number), pytest.raises(Stopped):
            train_direction(replace(parts, resume=number > 4), "forward", lambda message: None)
        state = torch.load(parts.home("forward") / "epochs" / "last.ckpt", weights_only=True)
        # frozen layers stay as they are in the pretrained encoder
        assert not any("embeddings" in name for name in state["state_dict"])
        # a checkpoint waits until the next step proves it valid
        assert number - 4 <= state["loops"]["fit_loop"]["epoch_loop.batch_progress"]["total"]["ready"] < number
    epochs = []
    train_direction(replace(parts, resume=True), "forward", epochs.append)
    assert [epoch.number for epoch in epochs if isinstance(epoch, Epoch)] == [3]
    assert same(weights(whole), weights(parts))
    # a new training does not resume the earlier one
    with stop_at(1), pytest.raises(Stopped):
        train_direction(replace(parts, resume=False), "forward", lambda message: None)
    assert not (parts.home("forward") / "epochs" / "last.ckpt").exists()


@pytest.mark.workflow
@pytest.mark.parametrize(("minutes", "steps", "kept"), [("1e-9", 0, 2), ("0", 0, None), ("5", 2, 2), ("5", 3, None)])
def test_by_time_and_by_steps(config, short_data, tmp_path, minutes, steps, kept):
    words = [f"--checkpoint.minutes={minutes}", f"--checkpoint.steps={steps}"]
    run = Run(config(1), short_data, tmp_path / "run", words)
    with stop_at(3), pytest.raises(Stopped):
        train_direction(run, "forward", lambda message: None)
    last = run.home("forward") / "epochs" / "last.ckpt"
    assert (torch.load(last, weights_only=True)["global_step"] if last.exists() else None) == kept


@pytest.mark.workflow
def test_the_best_epoch_is_kept(config, short_data, tmp_path):
    run = Run(config(4), short_data, tmp_path / "run", ["--model.learning_rate=3e-2"])
    messages = []
    train_direction(run, "forward", messages.append)
    # a slow machine also reports progress
    scores = [one.metrics["dev/score"] for one in messages if isinstance(one, Epoch)]
    best = scores.index(max(scores)) + 1
    names = sorted(p.name for p in (run.home("forward") / "epochs").iterdir())
    assert names == [f"best-{5 * best}.ckpt", "last.ckpt"]


def test_a_write_that_is_cut_off_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    files, path = AtomicFiles(), tmp_path / "epochs" / "last.ckpt"
    files.save_checkpoint({"step": 1}, path)

    def half(record, file):
        file.write(b"half of it")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", half)
        with pytest.raises(KeyboardInterrupt):
            files.save_checkpoint({"step": 2}, path)
    assert files.load_checkpoint(path, weights_only=True) == {"step": 1}
    files.save_checkpoint({"step": 3}, path)
    assert [p.name for p in path.parent.iterdir()] == ["last.ckpt"]
    assert files.load_checkpoint(path, weights_only=True) == {"step": 3}


class _Code:
    def __init__(self, made):
        self.made = made

    def __reduce__(self):
        return Path.touch, (self.made,)


def test_code_in_a_checkpoint_is_refused_and_not_run(train, short_data, tmp_path, capsys):
    out, made = tmp_path / "run", tmp_path / "made"
    assert train(out, "--direction", "forward") == 0
    (out / "forward" / "model.safetensors").unlink()
    harmed = sorted((out / "training" / "forward").rglob("*.ckpt"))
    assert harmed
    for path in harmed:
        torch.save({"state_dict": {}, "more": _Code(made)}, path)
    capsys.readouterr()
    assert train(out, "--direction", "forward", "--resume") == 1
    error = capsys.readouterr().err
    assert "ckpt: is missing, damaged, or no checkpoint of a training; --overwrite trains again" in error
    assert "Traceback" not in error
    assert not made.exists()
    torch.load(harmed[0], weights_only=False)
    assert made.exists()  # it is code indeed


@pytest.mark.parametrize("harm", ["flip", "half", "list"])
def test_damaged_checkpoints_are_refused(tmp_path, harm):
    path = tmp_path / "last.ckpt"
    torch.save({"state_dict": {"weight": torch.arange(100.0)}}, path)
    assert torch.equal(read_checkpoint(path)["state_dict"]["weight"], torch.arange(100.0))
    raw = bytearray(path.read_bytes())
    if harm == "list":
        torch.save([1], path)
    else:
        place = raw.index(torch.arange(100.0).numpy().tobytes()) + 41
        raw[place] ^= 64
        path.write_bytes(raw if harm == "flip" else raw[: len(raw) // 2])
    with pytest.raises(BgrError, match="is missing, damaged"):
        read_checkpoint(path)


@pytest.mark.workflow
def test_a_run_is_not_resumed_with_a_model_of_other_sizes(train, tmp_path, capsys):
    assert train(tmp_path / "run", "--direction=forward", epochs=1) == 0
    capsys.readouterr()
    assert train(tmp_path / "run", "--direction=forward", "--resume", "--model.width=8", epochs=2) == 1
    err = capsys.readouterr().err
    assert "is of a model with other settings; give those again, or --overwrite" in err
    assert err.count("Traceback") == 0


def test_steps_without_an_end_have_no_learning_rates(train, tmp_path, capsys):
    assert train(tmp_path / "run", "--trainer.max_epochs=-1") == 1
    assert "trainer.max_epochs is -1: give a number, or max_steps" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
