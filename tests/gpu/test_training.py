"""Trainings by Lightning on the device: precision, accumulation, resuming, one process of several, compiled models."""

import json
import shutil

import pytest
import torch
from lightning.pytorch import Callback, Trainer, seed_everything
from transformers import AutoTokenizer

from bgr.cli import main
from training.data_module import BgrDataModule
from training.retriever import train as retriever_training
from training.retriever.module import BgrModule

SETTINGS = {"width": 64, "dropout": 0.0, "learning_rate": 1e-3, "encoder_learning_rate": 1e-3, "loss": "zlpr"}
CONFIG = """
seed_everything: 3
model:
  encoder: {encoder}
  frozen_layers: 1
  width: 64
  dropout: 0.0
  learning_rate: 3.0e-3
data:
  batch_size: 6
trainer:
  max_epochs: 2
  accelerator: {accelerator}
  devices: 1
  num_sanity_val_steps: 0
  enable_model_summary: false
  enable_progress_bar: false
"""


@pytest.fixture
def encoder_folder(encoder_folder, tmp_path):
    """Without dropout, since the devices have other random numbers."""
    folder = shutil.copytree(encoder_folder, tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def fit(chosen, encoder_folder, toy_data, tmp_path):
    """``fit(batch_size=8, precision="bf16-mixed")``: weights on the CPU, dev metrics, and losses of the steps."""

    def run(batch_size=8, accelerator=chosen, workers=None, compiled="", callbacks=(), ckpt_path=None, **trainer):
        seed_everything(5, verbose=False)
        module = BgrModule(str(encoder_folder), frozen_layers=1, **SETTINGS)
        data = BgrDataModule(str(toy_data), batch_size=batch_size, workers=workers)
        data.prepare(AutoTokenizer.from_pretrained(encoder_folder), module.model, tmp_path / "states")
        if compiled:
            module.model.update.compile(backend=compiled)
        losses = []

        class Losses(Callback):
            def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
                losses.append(float(outputs["loss"]))

        silent = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
        settings = {"max_epochs": 2, "num_sanity_val_steps": 0, **dict.fromkeys(silent, False), **trainer}
        chosen_trainer = Trainer(accelerator=accelerator, devices=1, callbacks=[Losses(), *callbacks], **settings)
        chosen_trainer.fit(module, datamodule=data, ckpt_path=ckpt_path, weights_only=ckpt_path is not None)
        weights = {name: value.cpu().clone() for name, value in module.state_dict().items()}
        return weights, {k: float(v) for k, v in chosen_trainer.callback_metrics.items()}, losses

    return run


def check_alike(one, other, most=2e-3):
    """The losses of all steps and of dev; single weights may differ by more, since Adam amplifies rounding."""
    assert len(one[2]) == len(other[2])
    assert one[2] == pytest.approx(other[2], abs=most)
    assert one[1]["dev/loss"] == pytest.approx(other[1]["dev/loss"], abs=most)


pytestmark = pytest.mark.filterwarnings("ignore")


def test_it_learns_as_on_the_cpu(fit):
    check_alike(fit(), fit(accelerator="cpu"))


def test_it_learns_in_bfloat16(fit):
    *_, losses = fit(precision="bf16-mixed", max_epochs=6)
    *_, exact = fit(precision="32-true", max_epochs=6)
    assert losses[-1] < 0.9 * losses[0]
    assert losses[-1] == pytest.approx(exact[-1], abs=0.1)


def test_accumulated_gradients(fit):
    whole, parts = fit(8, max_epochs=1), fit(4, accumulate_grad_batches=2, max_epochs=1)
    assert whole[1]["dev/loss"] == pytest.approx(parts[1]["dev/loss"], abs=2e-3)


def test_batches_of_other_processes(fit):
    check_alike(fit(workers=0), fit(workers=2), most=1e-5)


def test_one_process_of_distributed_training(fit):
    check_alike(fit(), fit(strategy="ddp"), most=1e-3)


def test_a_compiled_part(fit, chosen):
    """Inductor makes kernels on a GPU; the rehearsal captures and runs the same graphs without it."""
    check_alike(fit(max_epochs=1), fit(max_epochs=1, compiled="inductor" if chosen == "cuda" else "aot_eager"))


def test_a_resumed_training(fit, tmp_path):
    class Keep(Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            if trainer.global_step == 5:
                trainer.save_checkpoint(tmp_path / "five.ckpt")

    whole = fit(callbacks=[Keep()])
    rest = fit(ckpt_path=tmp_path / "five.ckpt")
    assert len(rest[2]) == len(whole[2]) - 5
    assert rest[2] == pytest.approx(whole[2][5:], abs=1e-4)


@pytest.fixture
def command(chosen, encoder_folder, toy_data, tmp_path):
    """``command(*words)``: the folder of a run of `bgr train retriever`."""

    def run(*words):
        config = tmp_path / "config.yaml"
        config.write_text(CONFIG.format(encoder=encoder_folder, accelerator=chosen))
        out = tmp_path / "run"
        words = ["--config", str(config), "--data", str(toy_data), "--out", str(out), "--overwrite", *words]
        assert main(["train", "retriever", *words]) == 0
        return out

    return run


def test_the_command_chooses_everything_on_the_training_device(command, chosen, monkeypatch):
    devices = []
    real = retriever_training.decode_dev

    def decode_dev(model, data):
        devices.append(model.device.type)
        return real(model, data)

    monkeypatch.setattr(retriever_training, "decode_dev", decode_dev)
    monkeypatch.setattr("training.retriever.calibrate.decode_dev", decode_dev)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)  # in this process
    out = command("--data.workers=2")
    assert devices == [chosen] * 4  # the threshold of each direction, and the calibration of the pair
    assert (out / "bgr.json").is_file()
    assert len(list((out / "training").glob("*/finished.json"))) == 2


@pytest.mark.parametrize("name", ["highest", "high"])
def test_products_in_the_precision_that_is_asked_for(command, chosen, name):
    before = torch.get_float32_matmul_precision()
    try:
        command("--direction", "forward", f"--float32_matmul_precision={name}")
        assert torch.get_float32_matmul_precision() == name
        torch.set_float32_matmul_precision("highest")
        command("--direction", "forward")
        assert torch.get_float32_matmul_precision() == ("high" if chosen == "cuda" else "highest")
    finally:
        torch.set_float32_matmul_precision(before)
