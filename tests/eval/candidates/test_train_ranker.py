"""`bgr train ranker`: the checkpoint gets a ranker, and searches with it."""

import json
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from bgr.models.pool_ranker import PoolRanker, RankerConfig
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import load_ranker
from bgr.retrievers.graph_hop.options import RANKER
from training.questions import plain_questions
from training.search.ranker import fit, one_against_others


@pytest.fixture
def train(train_on_pools):
    """The command over a collection of the films' facts."""
    return partial(train_on_pools, "ranker")


@pytest.mark.workflow
def test_the_checkpoint_gets_a_ranker_and_searches_with_it(
    train, pruned_checkpoint, split_films, film_facts, tmp_path, capsys
):
    assert train("--epochs", "30", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"]["all_at_24"] >= found["before"]["all_at_24"]
    before, after = (BgrPipeline.from_pretrained(home, device="cpu") for home in (pruned_checkpoint, tmp_path / "new"))
    assert before.ranker is None
    assert after.ranker is not None
    assert all(
        torch.equal(one, two)
        for one, two in zip(before.forward.state_dict().values(), after.forward.state_dict().values(), strict=True)
    )
    collection = Collection.open(film_facts, encoder=None)
    searches = [pipeline.search_over(collection) for pipeline in (before, after)]
    assert [search.read_first for search in searches] == [0, after.ranker.config.keep]
    example = load_split(split_films, "test")[0]
    orders = [search.search([example.question], 100)[0].indices.tolist() for search in searches]
    assert orders[0] != orders[1]
    answer = after.answer(example.question, collection)
    most = after.forward.config.prune
    assert set(answer.graph.nodes) <= set(range(most))  # it reads the first ones
    assert main(["verify", str(tmp_path / "new")]) == 0


def test_the_same_seed_gives_the_same_weights(train, tmp_path):
    for out in ("one", "two"):
        assert train("--epochs", "2", out=out) == 0
    files = [tmp_path / out / RANKER / "model.safetensors" for out in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_plain_questions_change_what_is_learned(train, tmp_path, monkeypatch):
    patterns = {("capital of", "backward"): ["capital of {}"], ("made in", "forward"): ["where was {} made ?"]}
    monkeypatch.setattr(plain_questions, "plain_patterns", lambda: patterns)
    for out, share in (("one", "0"), ("two", "1")):
        assert train("--epochs", "2", "--plain", share, out=out) == 0
    files = [tmp_path / out / RANKER / "model.safetensors" for out in ("one", "two")]
    assert files[0].read_bytes() != files[1].read_bytes()


def test_an_export_keeps_the_ranker(train, tmp_path):
    assert train("--epochs", "2") == 0
    assert main(["export", "--run", str(tmp_path / "new"), "--out", str(tmp_path / "small"), "--half"]) == 0
    one, two = (load_ranker(tmp_path / name) for name in ("new", "small"))
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), two.state_dict().values(), strict=True))
    BgrPipeline.from_pretrained(tmp_path / "new", precision="32").save_pretrained(tmp_path / "saved")
    assert load_ranker(tmp_path / "saved") is not None


def test_ranked_candidates_are_read_from_the_first(pruned_checkpoint):
    pipeline = BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu")
    facts = [f"persona has {n} people ." for n in range(9)]
    most = pipeline.forward.config.prune
    [plain, ranked] = pipeline.retrieve_directions([Query("Who ?", facts), Query("Who ?", facts, read_first=99)])
    assert ranked.kept == tuple(range(most))
    assert plain.kept != ranked.kept
    [few] = pipeline.retrieve_directions([Query("Who ?", facts, read_first=2)])
    assert few.kept == (0, 1)
    [few] = pipeline.retrieve_directions([Query("Who ?", facts[:most], read_first=2)])
    assert few.kept == (0, 1)


def test_the_loss_is_that_of_each_gold_candidate_against_all_others():
    scores, gold = torch.tensor([2.0, -1.0, 0.5, 3.0]), torch.tensor([True, False, False, True])
    others = torch.tensor([-1.0, 0.5]).exp().sum()
    wanted = sum(-(torch.log(torch.exp(s) / (torch.exp(s) + others))) for s in (torch.tensor(2.0), torch.tensor(3.0)))
    torch.testing.assert_close(one_against_others(scores, gold), wanted / 2)
    assert one_against_others(scores, torch.ones(4, dtype=torch.bool)) == 0


def test_checkpoints_that_cannot_be_trained_are_refused(check_refusals):
    check_refusals("ranker")


def test_a_damaged_ranker_is_told(train, film_facts, tmp_path, capsys):
    assert train("--epochs", "2") == 0
    config = tmp_path / "new" / RANKER / "config.json"
    config.write_text(config.read_text().replace('"width": 16', '"width": 17'))
    capsys.readouterr()
    words = ["--collection", str(film_facts), "--checkpoint", str(tmp_path / "new")]
    assert main(["ask", "Who ?", *words]) == 1
    assert "ranker" in capsys.readouterr().err


def test_searches_that_find_nothing_teach_nothing():
    with pytest.raises(DataError, match="no search for a training question finds a gold fact"):
        fit(PoolRanker(RankerConfig()), [], SimpleNamespace(seed=0, epochs=1))
