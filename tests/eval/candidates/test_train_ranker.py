"""`bgr train ranker`: the checkpoint gets a ranker, and searches with it."""

import json
import shutil

import pytest
import torch

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import load_ranker, load_retriever
from bgr.retrievers.graph_hop.options import RANKER
from training.ranker import one_against_others


@pytest.fixture
def train(split_films, pruned_checkpoint, tmp_path):
    """The command over a collection of the films' facts."""

    def run(*more, checkpoint=pruned_checkpoint, out="new"):
        if not (tmp_path / "facts").exists():
            Collection.build(FactTable.read(split_films).sentences, tmp_path / "facts", encoder=None)
        words = ["--checkpoint", checkpoint, "--data", split_films, "--collection", tmp_path / "facts"]
        return main(["train", "ranker", *map(str, words), "--out", str(tmp_path / out), *more])

    return run


def test_the_checkpoint_gets_a_ranker_and_searches_with_it(train, pruned_checkpoint, split_films, tmp_path, capsys):
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
    collection = Collection.open(tmp_path / "facts", encoder=None)
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
    assert train("--epochs", "2") == 0
    config = tmp_path / "new" / RANKER / "config.json"
    config.write_text(config.read_text().replace('"width": 16', '"width": 17'))
    capsys.readouterr()
    words = ["--collection", str(tmp_path / "facts"), "--checkpoint", str(tmp_path / "new")]
    assert main(["ask", "Who ?", *words]) == 1
    assert "ranker" in capsys.readouterr().err
