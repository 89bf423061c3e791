"""Training configs small enough for a test, the commands that run them, and one run that the tests share."""

import logging
from contextlib import redirect_stdout

import pytest
import torch
from lightning.pytorch import Trainer

from bgr.cli import main
from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

OURS = """context_layers: 1
  words: true
  rows: 2
  links: 4
  numbers: true
  relevance: true
  completeness: true
  loss: zlpr"""
"""Everything that is not in the paper, but pruning."""

CONFIG = """
seed_everything: 3
model:
  {model}
  encoder: {encoder}
  frozen_layers: 1
  width: 64
  dropout: 0.0
  learning_rate: 3.0e-3
  encoder_learning_rate: 1.0e-3
data:
  batch_size: 6
trainer:
  max_epochs: {epochs}
  accelerator: cpu
  num_sanity_val_steps: 0
  enable_model_summary: false
  enable_progress_bar: false
"""


@pytest.fixture(scope="session", autouse=True)
def quiet_lightning():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


def write_yaml(folder, name, model, encoder, epochs):
    path = folder / f"{name}.yaml"
    path.write_text(CONFIG.format(model=model, encoder=encoder, epochs=epochs))
    return path


@pytest.fixture
def write_config(encoder_folder, tmp_path):
    """``write_config("dpr", "kind: dpr", 2)``: the path of a YAML file. On the toy data an epoch is 5 batches."""
    return lambda name, model, epochs: write_yaml(tmp_path, name, model, encoder_folder, epochs)


@pytest.fixture
def config(write_config):
    """``config(epochs)``: of a retriever."""
    return lambda epochs=2: write_config("config", OURS, epochs)


@pytest.fixture
def train(config, short_data):
    """``train(out, "--resume", epochs=2)``: `bgr train retriever`; gives the exit code."""

    def run(out, *more, epochs=2):
        words = ["train", "retriever", "--config", str(config(epochs)), "--data", str(short_data), "--out", str(out)]
        return main([*words, *more])

    return run


@pytest.fixture(scope="session")
def trained_run(build_once, encoder_folder, toy_data):
    """The folder of a run that has learned the toy, with what `bgr train retriever` printed in ``printed.txt``."""

    def make(folder):
        path = write_yaml(folder, "config", OURS, encoder_folder, 10)
        words = ["--config", str(path), "--data", str(toy_data), "--out", str(folder / "run"), "--json"]
        with (folder / "printed.txt").open("w") as printed, redirect_stdout(printed):
            assert main(["train", "retriever", *words, "--model.encoder_learning_rate=3e-3"]) == 0

    return build_once("trained-run", make)


@pytest.fixture
def refused(tmp_path, capsys):
    """``refused(code, said, "run")``: the exit code, the last line of standard error and the missing folder of a
    command that was refused."""

    def check(code, said, out):
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert code == 1
        assert line.startswith("bgr train: error: ")
        assert said in line
        assert not (tmp_path / out).exists()

    return check


@pytest.fixture
def bare_trainer():
    """``bare_trainer(max_epochs=2)``: Lightning's trainer on the CPU, which writes and prints nothing."""

    def make(**settings):
        silent = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
        return Trainer(accelerator="cpu", num_sanity_val_steps=0, **dict.fromkeys(silent, False), **settings)

    return make


@pytest.fixture
def one_thread():
    """One thread, so that directions are trained one after the other in this process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def baseline_examples():
    """Three questions of different structure and numbers of candidates; some share a fact."""
    facts = ["paris is the capital of france .", "persona was made in sweden .", "rome .", "radium has 9 people .", "a"]
    shapes = [
        ("which capital has 5 people ?", facts, [(ROOT, 2), (2, 0), (ROOT, 1)]),
        ("where is the film ?", facts[:3], [(ROOT, 0), (ROOT, 1), (0, 2), (1, 2)]),
        ("who ?", [facts[4], facts[3]], [(ROOT, 1)]),
    ]
    return [
        Example(str(number), question, tuple(part), EvidenceGraph(edges), "yes", (), "query")
        for number, (question, part, edges) in enumerate(shapes)
    ]
