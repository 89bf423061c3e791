"""`bgr train pruner`: only the pruners change, for the better."""

import json
import random
from functools import partial

import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.retrievers.graph_hop.checkpoint import load_retriever
from training.search.pruner import Pool


@pytest.fixture
def train(train_on_pools):
    """The command over a collection of the films' facts."""
    return partial(train_on_pools, "pruner")


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


def test_checkpoints_that_cannot_be_trained_are_refused(check_refusals):
    check_refusals("pruner")
