"""`bgr train verifier`: the checkpoint gets a verifier, and reads with it."""

import json

import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import load_verifier
from bgr.retrievers.graph_hop.options import VERIFIER


@pytest.fixture
def train(pruned_checkpoint, split_films, tmp_path):
    """The command over questions about films."""

    def run(*more, out="new", data=split_films):
        words = [
            "--checkpoint",
            pruned_checkpoint,
            "--data",
            data,
            "--candidates",
            "8",
            "--states",
            tmp_path / "states",
        ]
        return main(["train", "verifier", *map(str, [*words, "--out", tmp_path / out, *more])])

    return run


def test_the_checkpoint_gets_a_verifier_and_reads_with_it(train, pruned_checkpoint, split_films, tmp_path, capsys):
    assert train("--epochs", "60", "--learning-rate", "0.01", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["own after"]["f1"] >= found["own before"]["f1"]
    before, after = (BgrPipeline.from_pretrained(home, device="cpu") for home in (pruned_checkpoint, tmp_path / "new"))
    assert before.verifier is None
    assert after.verifier is not None
    example = load_split(split_films, "test")[0]
    query = Query(example.question, example.facts)
    after.verifier.config.weight = 0.0
    [same], [plain] = (each.retrieve_directions([query]) for each in (after, before))
    assert same.forward.odds == pytest.approx(plain.forward.odds, abs=1e-3)
    after.verifier.config.weight = 1.0
    [other] = after.retrieve_directions([query])
    assert other.forward.odds != pytest.approx(plain.forward.odds, abs=1e-3)
    assert main(["verify", str(tmp_path / "new")]) == 0


def test_kept_facts_and_groups_give_the_same(train, split_films, tmp_path):
    assert train("--epochs", "2") == 0
    pipeline = BgrPipeline.from_pretrained(tmp_path / "new", device="cpu")
    pipeline.verifier.config.weight = 1.0
    queries = [Query(one.question, one.facts) for one in load_split(split_films, "test")]
    together = pipeline.retrieve_directions(queries)
    alone = [found for query in queries for found in pipeline.retrieve_directions([query])]
    pipeline.keep_facts([fact for query in queries for fact in query.facts], tmp_path / "kept")
    for one, two, three in zip(together, alone, pipeline.retrieve_directions(queries), strict=True):
        assert one.backward.odds == pytest.approx(two.backward.odds, abs=1e-3)
        assert one.backward.odds == pytest.approx(three.backward.odds, abs=0.05)  # kept in half precision


def test_the_same_seed_gives_the_same_weights_and_a_new_run_finds_what_was_considered(train, tmp_path, monkeypatch):
    assert train("--epochs", "2", out="one") == 0
    monkeypatch.setattr("training.verifier._Source._walked", None)  # it is not called again
    assert train("--epochs", "2", out="two") == 0
    files = [tmp_path / out / VERIFIER / "model.safetensors" for out in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_export_and_further_training(train, tmp_path, capsys):
    assert train("--epochs", "1", out="one") == 0
    assert main(["export", "--run", str(tmp_path / "one"), "--out", str(tmp_path / "made"), "--half"]) == 0
    stored, original = (load_verifier(tmp_path / name) for name in ("made", "one"))
    for name, tensor in original.state_dict().items():
        torch.testing.assert_close(stored.state_dict()[name].float(), tensor.half().float())
    assert "verifier" in (tmp_path / "made" / "README.md").read_text()


def test_data_without_statements_are_one_line(train, toy_data, capsys, tmp_path):
    assert train(data=toy_data) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_checkpoint_that_considers_nothing_is_one_line(train, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("training.verifier.considered", lambda *_: {})
    assert train() == 1
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "considers no fact of any training question" in line
    assert not (tmp_path / "new").exists()
