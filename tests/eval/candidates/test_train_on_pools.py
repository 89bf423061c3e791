"""`bgr train retriever --data.searched`: training on what a checkpoint's own search finds."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.candidate_sets import fair
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.models.pool_ranker import PoolRanker, RankerConfig
from bgr.retrievers.graph_hop.checkpoint import load_ranker
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.checksums import write_sums
from training.data_module import BgrDataModule
from training.search.pools import only_gold

CONFIG = """
seed_everything: 0
model: {encoder: ENCODER, frozen_layers: 1, prune: 4, dropout: 0.0, learning_rate: 1.0e-2}
data: {batch_size: 2, candidates: 4, pool: 6}
trainer: {max_epochs: 1, accelerator: cpu, devices: 1, enable_progress_bar: false}
"""


@pytest.fixture
def facts(split_films, tmp_path):
    """A collection of the films' facts."""
    Collection.build(FactTable.read(split_films).sentences, tmp_path / "facts", encoder=None)
    return tmp_path / "facts"


@pytest.fixture
def ranked(pruned_checkpoint, tmp_path):
    """A checkpoint with pruners and a ranker."""
    home = shutil.copytree(pruned_checkpoint, tmp_path / "ranked", ignore=shutil.ignore_patterns("SHA256SUMS"))
    torch.manual_seed(0)
    PoolRanker(RankerConfig()).save_pretrained(home / RANKER)
    return home


def test_the_first_texts_found_that_state_no_gold_fact(split_films, ranked, facts, tmp_path):
    places = {"searcher": str(ranked), "collection": str(facts)}
    data = BgrDataModule(str(split_films), pool=8, candidates=3, searched=2, **places)
    data.setup()
    found = data._own_pools(torch.device("cpu"), tmp_path / "cache")
    assert [*found] == [example.id for example in data.splits["train"][-2:]]
    table = FactTable.read(split_films)
    for example in data.asked:
        gold = {example.facts[node] for node in example.graph.nodes}
        assert 0 < len(found[example.id]) <= 3
        assert not gold & set(found[example.id])
        assert set(fair(only_gold(example), found[example.id], table)) == set(found[example.id])


@pytest.mark.workflow
def test_a_checkpoint_with_a_ranker_keeps_it_and_its_pruners(
    split_films, ranked, facts, encoder_folder, tmp_path, capsys
):
    (tmp_path / "config.yaml").write_text(CONFIG.replace("ENCODER", str(encoder_folder)))
    words = ["--config", tmp_path / "config.yaml", "--data", split_films, "--states", tmp_path / "states"]
    found = [f"--data.{name}={value}" for name, value in (("searcher", ranked), ("collection", facts), ("searched", 4))]
    out = tmp_path / "new"
    assert main(["train", "retriever", *map(str, words), "--init", str(ranked), "--out", str(out), *found]) == 0
    for direction in ("forward", "backward"):
        before, after = (load_file(home / direction / "model.safetensors") for home in (ranked, out))
        same = {name: torch.equal(before[name], after[name]) for name in before.keys() & after}
        pruner = {name: equal for name, equal in same.items() if name.startswith("pruner.")}
        assert pruner
        assert all(pruner.values())
        assert not all(same.values())
    one, two = (load_ranker(home) for home in (ranked, out))
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))
    assert main(["verify", str(out)]) == 0
    write_sums(ranked)
    config = ranked / RANKER / "config.json"
    config.write_text(config.read_text() + " ")
    assert main(["train", "retriever", *map(str, words), "--init", str(ranked), "--out", str(tmp_path / "more")]) == 1
    assert f"{config}: is damaged or was changed" in capsys.readouterr().err
