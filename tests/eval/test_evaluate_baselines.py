"""`bgr evaluate --baselines` with folders of trained baselines."""

import json

import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.retrievers.baselines.baseline_config import BaselineConfig, BaselineSettings
from bgr.retrievers.baselines.trained import MODELS


@pytest.fixture
def data(examples, tmp_path):
    write_dataset(tmp_path / "data", {"train": [], "dev": [], "test": examples[:8]}, [], {})
    return tmp_path / "data"


@pytest.fixture
def baseline(encoder_config, tokenizer, tmp_path):
    """``baseline("dpr", "one", k=1)``: the folder of a baseline with random weights."""

    def make(kind, name, **settings):
        home = tmp_path / name
        home.mkdir()
        torch.manual_seed(0)
        MODELS[kind](BaselineConfig(encoder=encoder_config, kind=kind, width=16)).save_pretrained(home / kind)
        tokenizer.save_pretrained(home)
        BaselineSettings(kind, **settings).save(home)
        return home

    return make


@pytest.mark.workflow
def test_names_and_folders_in_one_table(baseline, data, tmp_path, capsys):
    bm25 = tmp_path / "tuned"
    bm25.mkdir()
    BaselineSettings("bm25", k=2).save(bm25)
    folders = [baseline("dpr", "one", k=1), baseline("dpr", "two", k=3), baseline("mdr", "paths", margin=0.5), bm25]
    words = ["--baselines", "bm25", *map(str, folders), "--out", str(tmp_path / "out"), "--json"]
    assert main(["evaluate", "--data", str(data), *words]) == 0
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert list(systems) == ["bm25", "dpr", "dpr, k = 1", "dpr (two)", "dpr, k = 3", "mdr", "bm25, k = 2"]
    assert systems["dpr"]["all"]["f1"] == systems["dpr (two)"]["all"]["f1"]
    assert systems["mdr"]["all"]["parameters"] > 1000
    assert all(system["all"]["n"] == 8 for system in systems.values())


@pytest.mark.parametrize(
    ("word", "said"), [("nowhere", "allowed: bm25, random"), ("data", "baseline.json"), ("checkpoint", "of BGR")]
)
def test_what_is_no_baseline(word, said, data, small_checkpoint, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["evaluate", "--data", str(data), "--baselines", str(tmp_path / word), "--out", str(out)]) == 1
    error = capsys.readouterr().err.strip().splitlines()
    assert said in error[-1]
    assert not out.exists()
