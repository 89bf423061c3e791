"""`bgr train baseline` from files to a folder: learning, resuming and invalid input."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.models.truncation import Truncation
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.baseline_config import BaselineSettings
from bgr.retrievers.baselines.trained import baseline_rows, load_baseline
from training.baseline.module import BaselineModule
from training.baseline.train import check, train_baseline
from training.retriever.calibrate import dev_metrics
from training.run import Run


@pytest.fixture
def baseline_config(write_config):
    """``baseline_config("dpr", 2)``: the path of a YAML file."""
    return lambda kind, epochs=2: write_config(kind, f"kind: {kind}", epochs)


def train(config, data, out, *more):
    return main(["train", "baseline", "--config", str(config), "--data", str(data), "--out", str(out), *more])


@pytest.mark.parametrize(
    ("kind", "epochs"),
    [("dpr", 4), *(pytest.param(*one, marks=pytest.mark.workflow) for one in (("grr", 5), ("mdr", 5), ("ssg", 6)))],
)
def test_learns_the_toy_and_scores_the_same_when_loaded(
    kind, epochs, baseline_config, toy_data, tmp_path, capsys, monkeypatch
):
    # 16 bits, in the cached states too, could change one of the ten questions
    monkeypatch.setattr("bgr.models.state_cache.DTYPE", np.float32)
    monkeypatch.setattr("bgr.utils.devices.fast_bfloat16", lambda device: False)
    assert train(baseline_config(kind, epochs), toy_data, tmp_path / "run", "--json") == 0
    said = capsys.readouterr()
    assert f"{kind:8}  truncated: 0 of 1 questions (0.00 %), 0 of 16 facts (0.00 %)" in said.err
    metrics = json.loads(said.out.strip().splitlines()[-1])
    assert metrics["f1"] > 0.6  # two facts drawn at random of five have 0.4
    dev = load_split(toy_data, "dev")
    queries = [Query(e.question, e.facts, len(e.graph.nodes)) for e in dev]
    retriever = list(baseline_rows(tmp_path / "run").values())[-1]
    found = dev_metrics([result.graph for result in retriever.retrieve(queries)], dev)
    assert found == pytest.approx({name: metrics[name] for name in found})
    settings = BaselineSettings.load(tmp_path / "run")
    assert (settings.kind, len(settings.data_hash)) == (kind, 64)
    assert settings.truncation == {"questions": Truncation(0, 1), "facts": Truncation(0, 16)}
    logs = tmp_path / "run" / "training" / kind
    assert "dev/gm" in (logs / "csv" / "metrics.csv").read_text()
    assert list((logs / "tb").glob("events*"))


class Stopped(Exception):
    pass


@pytest.mark.workflow
@pytest.mark.parametrize("kind", ["grr", "dpr", "mdr", "ssg"])
def test_resume_gives_the_weights_of_an_uninterrupted_run(kind, baseline_config, toy_data, tmp_path, monkeypatch):
    words = ["--model.dropout=0.2", "--checkpoint.steps=1", "--data.candidates=4"]
    whole, parts = (Run(baseline_config(kind), toy_data, tmp_path / name, words) for name in ("whole", "parts"))
    train_baseline(whole, check(whole))
    usual = BaselineModule.on_train_batch_start

    def stop(self, batch, batch_idx):
        if self.current_epoch == 1 and batch_idx == 3:
            raise Stopped
        usual(self, batch, batch_idx)

    plan = check(parts)
    with monkeypatch.context() as patch:
        patch.setattr(BaselineModule, "on_train_batch_start", stop)
        with pytest.raises(Stopped):
            train_baseline(parts, plan)
    assert not (parts.out / "baseline.json").exists()
    again = replace(parts, resume=True)
    metrics = train_baseline(again, check(again))
    a, b = (load_file(run.out / kind / "model.safetensors") for run in (whole, parts))
    assert all(torch.equal(a[name], b[name]) for name in a)
    # finished: nothing is done again
    before = (parts.out / kind / "model.safetensors").stat().st_mtime_ns
    assert train_baseline(again, check(again)) == metrics
    assert (parts.out / kind / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["bm25", "random"])
def test_k_of_what_has_nothing_to_learn(kind, toy_data, tmp_path, capsys):
    assert train(kind, toy_data, tmp_path / "run", "--json", "--seed", "1") == 0
    metrics = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert metrics["score"] >= 0.2
    settings = BaselineSettings.load(tmp_path / "run")
    assert (settings.kind, settings.seed) == (kind, 1)
    dev = load_split(toy_data, "dev")
    queries = [Query(e.question, e.facts) for e in dev]
    scores = {}
    for k in range(1, 6):
        graphs = [result.graph for result in load_baseline(tmp_path / "run", k=k).retrieve(queries)]
        scores[k] = dev_metrics(graphs, dev)["score"]
    assert settings.k == max(scores, key=lambda k: (scores[k], -k))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--model.kind=bert"], "allowed: dpr, grr, mdr, ssg"),
        (["--model.colour=red"], "colour"),
        (["--model.beam=0"], "beam is 0"),
        (["--data.batch_size=0"], "batch_size is 0"),
        (["--model.matrix_learning_rate=-1"], "matrix_learning_rate is -1"),
        (["--model.width=100000"], "width is 100000"),
        (["--model.encoder=/no/such/folder"], "/no/such/folder"),
    ],
)
def test_bad_settings_are_one_line_and_write_nothing(baseline_config, toy_data, tmp_path, refused, more, said):
    refused(train(baseline_config("grr"), toy_data, tmp_path / "run", *more), said, "run")


@pytest.mark.workflow
def test_bad_settings_of_the_untrained_and_missing_folders(baseline_config, toy_data, tmp_path, capsys):
    config = tmp_path / "mine.yaml"
    for text, said in [
        ("kind: dpr\n", "allowed: bm25, random"),
        ("kind: bm25\nk: 3\n", "'k'"),
        ("kind: [\n", "mine"),
        ("[" * 5000, "mine"),
    ]:
        config.write_text(text)
        assert train(config, toy_data, tmp_path / "run") == 1
        error = capsys.readouterr().err.strip()
        assert said in error
        assert len(error.splitlines()) == 1
    for kind in ("bm25", baseline_config("dpr")):
        assert train(kind, tmp_path / "nowhere", tmp_path / "run") == 1
        assert "nowhere" in capsys.readouterr().err
    assert train("nosuch", toy_data, tmp_path / "run") == 1
    assert "baseline-dpr" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_existing_run_is_not_touched(baseline_config, toy_data, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("keep")
    for config in (baseline_config("dpr"), "bm25"):
        assert train(config, toy_data, tmp_path / "run") == 1
        assert "--overwrite" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["mine.txt"]
