"""`bgr bench train` and `bgr bench infer` on a small encoder and toy questions: timing and output."""

import json

import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_split
from eval.bench.measure import Seconds, in_turns, line, speed_result
from eval.bench.reference.plain_model import PlainRetriever
from training.retriever.timed_steps import TimedSteps

CONFIG = """
model:
  encoder: none
  frozen_layers: {frozen}
  width: 64
  context_layers: {context}
  dropout: 0.0
data:
  batch_size: 6
  candidates: 4
trainer:
  gradient_clip_val: 1.0
"""


@pytest.fixture
def config(tmp_path):
    def write(frozen=0, context=0):
        path = tmp_path / f"form{frozen}.yaml"
        path.write_text(CONFIG.format(frozen=frozen, context=context))
        return path

    return write


def test_sides_run_in_turns_and_the_fastest_round_counts(monkeypatch):
    calls, now = [], [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def piece(name, seconds):
        left = list(seconds)

        def work():
            calls.append(name)
            now[0] += left.pop(0)

        return work

    a = [piece("a0", [5, 2, 3]), piece("a1", [1, 4])]
    b = [piece("b0", [9, 6, 7]), piece("b1", [2, 1])]
    found = in_turns(a, b, rounds=2)
    assert calls == ["a0", "b0", "a0", "b0", "a1", "b1", "b0", "a0", "b1", "a1"]
    assert (found[0].wall, found[1].wall) == (3, 7)


def test_a_line_says_whether_its_target_is_met():
    step = line("step", "encoder", Seconds(2.6, 2.2), Seconds(2.0, 2.0), 10, max_ratio=1.2)
    assert (step["ratio"], step["processor_ratio"], step["met"]) == (1.3, 1.1, False)
    quick = line("kept", "encoder", Seconds(0.1, 0.1), Seconds(2.0, 2.0), 10, max_ms=15)
    assert quick["met"]
    assert not line("kept", "encoder", Seconds(0.2, 0.1), Seconds(2.0, 2.0), 10, max_ms=15)["met"]
    text = speed_result({"model": "small", "seed": 0}, [step, quick]).text
    assert "model small, seed 0" in text
    assert "≤ 1.2 missed" in text
    assert "≤ 15 ms met" in text
    assert "met" not in line("work", "none", Seconds(1, 1), Seconds(3, 3), 10)


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_a_step_by_the_plain_definition_has_the_same_loss_and_gradients(
    config, encoder_folder, tokenizer, toy_data, tmp_path, frozen
):
    examples = load_split(toy_data, "train")[:6]
    path = config(frozen, context=1)
    steps = TimedSteps(path, str(encoder_folder), examples, tokenizer, tmp_path, batch_size=3)
    steps.module.eval()
    plain = PlainRetriever(steps.model)
    assert [len(batch.candidates) for batch in steps.tokens] == [3, 3]
    losses, gradients = [], []
    for form in (None, plain):
        loss = steps.loss(0, form)
        losses.append(loss)
        steps.optimizer.zero_grad()
        loss.backward()
        gradients.append([p.grad.clone() for p in steps.trained if p.grad is not None])
    torch.testing.assert_close(*losses, atol=1e-5, rtol=1e-5)
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two, atol=1e-5, rtol=1e-4)
    before = [p.clone() for p in steps.trained]
    steps.step(0)
    assert all(torch.equal(a, b) for a, b in zip(before, steps.trained, strict=True))


@pytest.mark.workflow
def test_bench_train(config, encoder_folder, toy_data, capsys):
    words = ["--data", str(toy_data), "--model", str(encoder_folder), "--device", "cpu", "--questions", "4"]
    words += ["--batch-size", "2", "--rounds", "1", "--model-config", str(config()), str(config(1))]
    assert main(["bench", "train", *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["setting"]["questions"] == 4
    works = [line["work"] for line in result["lines"]]
    assert works.count("form0: training step") == works.count("form1: training step") == 2
    assert "form1: encoding, states of frozen layers cached" in works
    assert all(line["ms"] > 0 and line["ratio"] > 0 for line in result["lines"])
    assert main(["bench", "train", *words[:-1], "--no-plain"]) == 0
    assert "bare encoder, forward + backward" in capsys.readouterr().out


@pytest.mark.workflow
@pytest.mark.parametrize("trained", [False, True])
def test_bench_infer(config, encoder_folder, small_checkpoint, toy_data, capsys, trained):
    model = ["--model", str(small_checkpoint)] if trained else ["--model", str(encoder_folder)]
    words = ["--data", str(toy_data), *model, "--device", "cpu", "--questions", "3", "--batch-size", "2"]
    words += ["--rounds", "1", "--model-config", str(config())]
    assert main(["bench", "infer", *words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    form = "checkpoint" if trained else "form0"
    works = {line["work"]: line for line in result["lines"]}
    assert works[f"{form}: both graphs, facts cached"]["most_ms"] == 15
    assert f"{form}: both graphs, facts cached, one at a time" in works
    assert f"{form}: encoding, fact states cached" in works


def test_a_model_that_does_not_exist(toy_data, capsys):
    assert main(["bench", "train", "--data", str(toy_data), "--model", "./none", "--questions", "2"]) == 1
    assert "./none" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("bench", ["train", "infer"])
def test_without_data_atlas_is_built_and_the_shipped_forms_are_timed(bench, capsys):
    assert main(["bench", bench, "--questions", "2", "--rounds", "1", "--no-plain", "--device", "cpu", "--json"]) == 0
    works = [line["work"] for line in json.loads(capsys.readouterr().out)["lines"]]
    assert {work.split(":")[0] for work in works} == {"paper", "demo"}
