"""What a piece of work uses of a device, and the curves of a training."""

import pytest
import torch

from bgr.errors import DataError
from eval.bench.utilization import peak_tflops, utilization, utilization_lines
from eval.report.curves import plot_curves, read_curves

CPU = torch.device("cpu")
PRODUCT = 2 * 64 * 32 * 16  # a product of 64 × 32 and 32 × 16


def forward_backward():
    a, b = torch.randn(64, 32, requires_grad=True), torch.randn(32, 16, requires_grad=True)
    (a @ b).sum().backward()


@torch.inference_mode()
def linear():
    torch.nn.functional.linear(torch.randn(64, 32), torch.randn(16, 32)).sum()


@pytest.mark.workflow
@pytest.mark.parametrize(("work", "products"), [(forward_backward, 3), (linear, 1)])
def test_operations_are_counted(work, products, monkeypatch):
    monkeypatch.setattr("time.perf_counter", iter(range(1_000)).__next__)  # every piece takes a second
    found = utilization("step", [work, work], 8, CPU, rounds=2)
    assert found["questions_per_second"] == 4
    assert found["tflops"] == pytest.approx(2 * products * PRODUCT / 2 / 1e12)
    assert found["memory_gb"] >= 0
    [line] = utilization_lines([found], peak=found["tflops"] * 4)
    assert line.startswith("step: 4.0 questions a second, ")
    assert "25% of the" in line


def test_the_peak_is_measured(monkeypatch):
    monkeypatch.setattr("eval.bench.utilization.SIDE", {"cpu": 64})
    assert peak_tflops(CPU, None) > 0
    assert peak_tflops(CPU, torch.bfloat16) > 0


def test_curves(tmp_path):
    log = tmp_path / "metrics.csv"
    log.write_text("epoch,step,train/loss,dev/loss,dev/score\n0,0,0.9,,\n0,1,0.7,,\n0,1,,0.8,0.25\n")
    found = read_curves(log)
    assert found == {"train/loss": ([0, 1], [0.9, 0.7]), "dev/loss": ([1], [0.8]), "dev/score": ([1], [0.25])}
    plot_curves({"forward": log, "backward": log}, tmp_path / "curve.png", "a title")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    log.write_text("epoch,step,train/loss\n")
    with pytest.raises(DataError, match="has no training step"):
        read_curves(log)
    with pytest.raises(DataError, match="no such file"):
        read_curves(tmp_path / "none.csv")
