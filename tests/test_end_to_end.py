"""One small real run with the commands of the README: Atlas, data, training, a reader, evaluation, export, question."""

import json

import pytest

from bgr.cli import main
from bgr.pipeline import BgrPipeline

pytestmark = pytest.mark.slow


def bgr(*arguments):
    assert main([str(a) for a in arguments]) == 0


def test_train_evaluate_export_ask(tmp_path, capsys):
    atlas, data, run = tmp_path / "atlas", tmp_path / "data", tmp_path / "run"
    report, checkpoint = tmp_path / "report", tmp_path / "checkpoint"
    bgr("atlas", "--out", atlas, "--questions", 900)
    bgr("data", "build", "--kqapro", atlas, "--out", data, "--limit", 750)
    bgr("train", "retriever", "--config", "demo", "--data", data, "--out", run, "--trainer.max_epochs=3")
    bgr("evaluate", "--checkpoint", run, "--data", data, "--split", "test", "--out", report)
    metrics = json.loads((report / "metrics.json").read_text())
    systems = {name: parts["all"] for name, parts in metrics["systems"].items()}
    # three epochs over 600 questions learn something: a random choice of the right number of facts has 0.14
    assert {"bm25", "forward", "backward", "equation"} <= set(systems)
    assert systems["equation"]["f1"] > 0.3
    reader = tmp_path / "reader"
    words = ["--config", "reader_demo", "--retriever", run, "--data.retrieved_limit=50", "--trainer.max_epochs=1"]
    bgr("train", "reader", *words, "--data", data, "--out", reader)
    bgr("export", "--run", run, "--reader", reader, "--out", checkpoint, "--metrics", report / "metrics.json")
    sample = json.loads((data / "test.jsonl").read_text().splitlines()[0])
    facts = tmp_path / "facts.txt"
    facts.write_text("\n".join(sample["facts"]))
    capsys.readouterr()
    bgr("ask", "--checkpoint", checkpoint, "--facts", facts, "--json", sample["question"])
    asked = json.loads(capsys.readouterr().out)
    assert asked["edges"]
    assert 0 <= asked["confidence"] <= 1
    direct = BgrPipeline.from_pretrained(checkpoint).answer(sample["question"], sample["facts"])
    assert [[a, b] for a, b, _ in asked["edges"]] == direct.graph.to_json()
    assert asked["answer"] == direct.text
