"""Baseline folders: what is saved is loaded, and whatever is wrong is one line."""

import json

import pytest
import torch

from bgr.errors import BgrError, CheckpointError
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.baseline_config import BaselineSettings
from bgr.retrievers.baselines.single_hop import Bm25Facts
from bgr.retrievers.baselines.trained import TrainedBaseline, baseline_rows, load_baseline


@pytest.fixture
def queries(samples):
    return [*(Query(question, facts, 2) for question, facts in samples), Query("none ?", (), 0)]


@pytest.fixture
def folder(make_baseline, tokenizer, tmp_path):
    """``folder("dpr", k=3)``: a baseline with random weights on disk."""

    def make(kind, **settings):
        home = tmp_path / kind
        home.mkdir()
        make_baseline(kind).save_pretrained(home / kind)
        tokenizer.save_pretrained(home)
        BaselineSettings(kind, **settings).save(home)
        return home

    return make


@pytest.mark.parametrize(("kind", "chosen"), [("dpr", {"k": 1}), ("grr", {"margin": 1.0}), ("mdr", {}), ("ssg", {})])
def test_saved_and_loaded_finds_the_same(kind, chosen, folder, make_baseline, tokenizer, queries):
    loaded = load_baseline(folder(kind, **chosen), precision="32")
    assert isinstance(loaded, TrainedBaseline)
    own = TrainedBaseline(make_baseline(kind), tokenizer, loaded.keep, precision="32")
    results = loaded.retrieve(queries)
    assert [r.graph for r in results] == [r.graph for r in own.retrieve(queries)]
    assert [r.graph for r in results] == [loaded.retrieve([query])[0].graph for query in queries]
    assert all(r.graph.nodes for r in results[:3])
    assert not results[3].graph.nodes
    assert loaded.parameters > 1000


def test_k_of_a_single_hop_baseline(folder, queries):
    home = folder("dpr", k=1)
    counts = {k: [len(r.graph.nodes) for r in load_baseline(home, k=k).retrieve(queries)] for k in ("gold", "dev", 3)}
    assert counts == {"gold": [2, 2, 2, 0], "dev": [1, 1, 1, 0], 3: [3, 3, 2, 0]}
    rows = baseline_rows(home)
    assert list(rows) == ["dpr", "dpr, k = 1"]
    assert [len(r.graph.nodes) for r in rows["dpr, k = 1"].retrieve(queries)] == [1, 1, 1, 0]


def test_bm25_and_random_have_settings_alone(tmp_path):
    BaselineSettings("bm25", k=2).save(tmp_path)
    assert list(baseline_rows(tmp_path)) == ["bm25", "bm25, k = 2"]
    tuned = load_baseline(tmp_path, k="dev")
    assert isinstance(tuned, Bm25Facts)
    assert tuned.k == 2


def edit(path, change):
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(kind="bert"), "allowed: bm25, dpr, grr"),
        (lambda r: r.update(kind="ssg"), "no such file"),
        (lambda r: r.update(k=-2), "must be 0 or more"),
        (lambda r: r.update(k="3"), "k is '3', allowed: a valid integer"),
        (lambda r: r.pop("k"), "k of dpr is missing"),
        (lambda r: r.pop("kind"), "kind is missing"),
        (lambda r: r.update(format=9), "format 1"),
        (lambda r: r.update(colour="red"), "colour"),
        (lambda r: r.update(metrics=3), "metrics"),
    ],
)
def test_damaged_settings(change, said, folder):
    home = folder("dpr", k=1)
    edit(home / "baseline.json", change)
    with pytest.raises(BgrError, match=said) as caught:
        load_baseline(home)
    assert str(home) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(kind="mdr"), "expected 'dpr'"),
        (lambda r: r.update(width=32), "the configuration says"),
        (lambda r: r.update(rows=0), "rows is 0"),
        (lambda r: r.update(layers=3), "missing"),
        (lambda r: r.update(width="wide"), "width"),
        (lambda r: r.update(beam=0), "beam is 0"),
    ],
)
def test_damaged_configuration(change, said, folder):
    home = folder("dpr", k=1)
    edit(home / "dpr" / "config.json", change)
    with pytest.raises(CheckpointError, match=said):
        load_baseline(home)


def test_damaged_weights_and_other_folders(folder, small_checkpoint, tmp_path):
    home = folder("grr", margin=0.5)
    weights = home / "grr" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="safetensors"):
        load_baseline(home)
    with pytest.raises(BgrError, match="no such file"):
        load_baseline(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="checkpoint of BGR"):
        load_baseline(small_checkpoint)
    (home / "baseline.json").write_text("{")
    with pytest.raises(BgrError, match="not valid JSON"):
        load_baseline(home)


def test_k_is_refused_where_it_means_nothing(folder):
    with pytest.raises(BgrError, match="ssg stops by itself"):
        load_baseline(folder("ssg"), k=3)
    with pytest.raises(BgrError, match="must be 0 or more"):
        load_baseline(folder("dpr", k=1), k=-1)


def test_precision_is_close(folder, queries):
    home = folder("dpr", k=2)
    full, half = (load_baseline(home, precision=name) for name in ("32", "bf16"))
    assert half.search(queries)[1].paths[0].score == pytest.approx(full.search(queries)[1].paths[0].score, abs=0.1)
    assert torch.is_tensor(next(half.model.parameters()))
