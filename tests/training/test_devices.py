"""Precision and determinism follow the device that is trained on, not the devices that there are."""

import pytest
import torch

from bgr.errors import BgrError
from training import lightning_cli
from training.lightning_cli import _device_of, result_settings, training_device
from training.retriever.train import parse
from training.run import Run
from training.transfer import default_workers

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def read(config, short_data, tmp_path):
    """``read("--key=value")``: the settings of a training, which is not started."""
    return lambda *words: parse(Run(config(), short_data, tmp_path / "run", words), "forward")


@pytest.fixture
def with_gpu(monkeypatch):
    """As if there were a GPU, and only it were fast at bfloat16."""
    monkeypatch.setattr(lightning_cli, "pick_device", lambda: CUDA)
    monkeypatch.setattr(lightning_cli, "fast_bfloat16", lambda device: device == CUDA)
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    ("accelerator", "device"),
    [("cpu", CPU), ("auto", CUDA), ("gpu", CUDA), ("cuda", CUDA), ("mps", torch.device("mps"))],
)
def test_the_device_of_an_accelerator(with_gpu, accelerator, device):
    assert _device_of(accelerator) == device


def test_a_training_on_the_cpu_beside_a_gpu(with_gpu, read):
    cli = read()
    assert training_device(cli) == CPU
    trainer = result_settings(cli)["trainer"]
    assert trainer["precision"] == "32-true"
    assert cli.config.trainer.deterministic is True
    assert torch.get_float32_matmul_precision() == "highest"
    assert read("--trainer.precision=bf16-mixed").config.trainer.precision == "bf16-mixed"


def test_the_defaults_of_a_gpu(with_gpu, read, monkeypatch):
    monkeypatch.setattr(lightning_cli, "_device_of", lambda accelerator: CUDA)
    trainer = read().config.trainer
    assert (trainer.precision, trainer.deterministic) == ("bf16-mixed", False)
    assert torch.get_float32_matmul_precision() == "high"
    read("--float32_matmul_precision=highest")
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("device", "frozen", "precision"), [(CPU, 0, "bf16-mixed"), (CPU, 1, "32-true"), (CUDA, 1, "bf16-mixed")]
)
def test_over_a_frozen_encoder_a_cpu_gains_nothing_from_16_bits(with_gpu, read, monkeypatch, device, frozen, precision):
    monkeypatch.setattr(lightning_cli, "_device_of", lambda accelerator: device)
    monkeypatch.setattr(lightning_cli, "fast_bfloat16", lambda device: True)
    assert read(f"--model.frozen_layers={frozen}").config.trainer.precision == precision


def test_what_changes_results_is_a_setting_of_the_result(with_gpu, read):
    plain = result_settings(read())
    assert "float32_matmul_precision" not in plain
    assert result_settings(read("--data.workers=3")) == plain
    assert result_settings(read("--float32_matmul_precision=high"))["float32_matmul_precision"] == "high"


@pytest.mark.parametrize(
    ("word", "said"),
    [("--float32_matmul_precision=low", "low"), ("--data.workers=-1", "workers is -1, allowed: 0 or more")],
)
def test_what_is_not_allowed(read, word, said):
    with pytest.raises(BgrError, match=said):
        read(word)


def test_processes_are_for_gpus():
    assert default_workers(CPU) == 0
    assert 1 <= default_workers(CUDA) <= 8
