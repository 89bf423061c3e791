"""Two processes, or gradients accumulated over two batches, end with the weights of one process and the whole batch."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from lightning.pytorch import seed_everything
from safetensors.torch import load_file
from transformers import AutoTokenizer

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.data_module import BgrDataModule
from training.retriever.module import BgrModule


@pytest.fixture
def encoder_folder(encoder_folder, tmp_path):
    """Without dropout in the encoder either."""
    folder = shutil.copytree(encoder_folder, tmp_path / "encoder")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def fit(encoder_folder, toy_data, bare_trainer, tmp_path):
    def run(direction, batch_size, **trainer):
        seed_everything(5, verbose=False)
        settings = {"frozen_layers": 1, "width": 32, "dropout": 0.0, "learning_rate": 1e-3, "loss": "zlpr"}
        settings |= {"context_layers": 1, "words": True, "links": 2, "relevance": True, "completeness": True}
        module = BgrModule(str(encoder_folder), direction, encoder_learning_rate=1e-3, **settings)
        before = {name: value.clone() for name, value in module.state_dict().items()}
        # 3 steps of 8 questions and one of 3, of which one of two batches has 2
        data = BgrDataModule(str(toy_data), batch_size=batch_size, candidates=4, limit=27)
        data.prepare(AutoTokenizer.from_pretrained(encoder_folder), module.model, tmp_path / "states")
        data.splits["train"] = [one_more_fact(e) if i % 3 else e for i, e in enumerate(data.splits["train"])]
        chosen = bare_trainer(max_epochs=2, gradient_clip_val=0.2, **trainer)
        chosen.fit(module, datamodule=data)
        weights = {name: value.clone() for name, value in module.state_dict().items()}
        assert max((weights[name] - before[name]).abs().max() for name in weights) > 1e-3
        return weights, {name: float(value) for name, value in chosen.callback_metrics.items()}, noise(module, chosen)

    return run


def one_more_fact(example):
    """With one more fact below the question: two paths, so that questions differ in their number of rows."""
    free = min(set(range(len(example.facts))) - set(example.graph.nodes))
    return replace(example, graph=EvidenceGraph([*example.graph.edges, (ROOT, free)]))


def noise(module, trainer):
    """Parameters whose gradient is only rounding, which Adam amplifies: the biases of attention keys, which do not
    affect softmax."""
    state = trainer.optimizers[0].state if trainer.optimizers else {}
    moments = {name: state[p]["exp_avg_sq"] for name, p in module.named_parameters() if p in state}
    return {name: (moment > 0) & (moment < 1e-17) for name, moment in moments.items()}


def check_alike(one, other):
    (weights, metrics, unseen), (found, scores, _) = one, other
    far = {}
    for name in weights:
        distance = (weights[name] - found[name]).abs()
        far[name] = float(torch.where(unseen[name], 0.0, distance).max() if name in unseen else distance.max())
    assert {name: distance for name, distance in far.items() if distance > 1e-5} == {}
    # attention to the only row of a fact does not depend on its query and key
    others = [mask for name, mask in unseen.items() if not name.startswith("model.update.fact.")]
    assert sum(int(mask.sum()) for mask in others) < 0.01 * sum(mask.numel() for mask in others)
    for name in ("dev/gm", "dev/gs", "dev/f1", "dev/score", "dev/loss"):
        assert scores[name] == pytest.approx(metrics[name], abs=1e-5), name


@pytest.mark.workflow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_accumulated_batches(fit, direction):
    check_alike(fit(direction, 8), fit(direction, 4, accumulate_grad_batches=2))


@pytest.mark.workflow
@pytest.mark.filterwarnings("ignore")
def test_two_processes(fit):
    check_alike(fit("backward", 8), fit("backward", 4, devices=2, strategy="ddp_spawn"))


@pytest.mark.slow
def test_the_command_with_two_processes(config, toy_data, tmp_path):
    """Each process runs the whole command line; only the first one writes."""
    # in bfloat16, the same sums are rounded differently when they are split differently
    words = ["--config", str(config(2)), "--data", str(toy_data), "--trainer.precision=32-true"]
    runs = {
        "one": ["--data.batch_size=8", "--direction=forward"],
        "two": ["--data.batch_size=4", "--trainer.devices=2", "--trainer.strategy=ddp", "--json"],
    }
    for name, more in runs.items():
        command = [sys.executable, "-m", "bgr", "train", "retriever", *words, "--out", str(tmp_path / name), *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["forward"]["f1"] >= 0  # printed once
    assert (tmp_path / "two" / "bgr.json").is_file()
    one, two = (load_file(tmp_path / name / "forward" / "model.safetensors") for name in runs)
    matrices = [name for name, value in one.items() if value.ndim == 2]
    assert max(float((one[name] - two[name]).abs().max()) for name in matrices) < 1e-4
