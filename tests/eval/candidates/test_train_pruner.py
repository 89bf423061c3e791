"""`bgr train pruner`: only the pruners change, for the better."""

import json
import random
import shutil

import pytest
import torch

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.retrievers.graph_hop.checkpoint import load_retriever
from training.pruner import Pool


@pytest.fixture
def train(split_films, pruned_checkpoint, tmp_path):
    """The command over a collection of the films' facts."""

    def run(*more, checkpoint=pruned_checkpoint, out="new"):
        if not (tmp_path / "facts").exists():
            Collection.build(FactTable.read(split_films).sentences, tmp_path / "facts", encoder=None)
        words = ["--checkpoint", checkpoint, "--data", split_films, "--collection", tmp_path / "facts"]
        return main(["train", "pruner", *map(str, words), "--out", str(tmp_path / out), *more])

    return run


FAST = ("--epochs", "30", "--learning-rate", "0.02", "--candidates", "6", "--pool", "40")


def test_only_the_pruners_change_and_both_alike(train, pruned_checkpoint, tmp_path, capsys):
    assert train(*FAST, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"before", "after"}
    assert all(0 <= share <= 1 for row in found.values() for share in row.values())
    models = [
        load_retriever(home, d) for home in (pruned_checkpoint, tmp_path / "new") for d in ("forward", "backward")
    ]
    states = [model.state_dict() for model in models]
    for old, new in zip(states[:2], states[2:], strict=True):
        changed = {name for name in old if not torch.equal(old[name], new[name])}
        assert changed
        assert all(name.startswith("pruner.") for name in changed)
    pruners = [{name: one for name, one in state.items() if name.startswith("pruner.")} for state in states[2:]]
    assert all(torch.equal(pruners[0][name], pruners[1][name]) for name in pruners[0])
    assert main(["verify", str(tmp_path / "new")]) == 0


def test_the_same_seed_gives_the_same_weights(train, tmp_path):
    for out in ("one", "two"):
        assert train(*FAST, "--epochs", "2", out=out) == 0
    files = [tmp_path / out / "forward" / "model.safetensors" for out in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_pool_has_its_gold_facts_and_knows_other_words_for_them(split_films):
    example, table = load_split(split_films, "test")[0], FactTable.read(split_films)
    capital, country = (example.facts[node] for node in (2, 3))
    other = f"{country.split()[-2]} has made {example.id} ."
    strangers = [text for text in table.sentences if text not in (*example.facts, other)][:5]
    pool = Pool.of(example, [*strangers, other], table)
    assert pool.texts == [*strangers, other, capital]
    assert (pool.found, pool.node) == (6, {5: 3, 6: 2})
    assert pool.complete([5, 6])
    assert not pool.complete([5])
    draw = random.Random(0)
    assert sorted(pool.sample(4, draw))[0] == 0  # the best of the others
    assert {5, 6} <= set(pool.sample(4, draw))
    assert sorted(pool.sample(100, draw)) == list(range(7))


def test_bad_input_is_told_in_one_line(train, pruned_checkpoint, split_films, tmp_path, capsys):
    for change, words in (({"checkpoint": tmp_path / "missing"}, "missing"), ({"checkpoint": split_films}, "bgr.json")):
        assert train(**change) != 0
        said = capsys.readouterr().err.strip()
        assert words in said
        assert "\n" not in said
        assert not (tmp_path / "new").exists()
    bare = tmp_path / "bare"
    shutil.copytree(pruned_checkpoint, bare)
    for direction in ("forward", "backward"):
        model = load_retriever(bare, direction)
        model.pruner, model.config.prune = None, 0
        model.save_pretrained(bare / direction)
    assert train(checkpoint=bare) == 1
    assert "has no pruner" in capsys.readouterr().err
