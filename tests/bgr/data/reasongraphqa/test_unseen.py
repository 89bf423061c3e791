"""A dataset without what another one trains on."""

import json
from dataclasses import replace
from itertools import chain

import pytest

from bgr.cli import main
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.verify import verify_dataset
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

ONE = EvidenceGraph([(ROOT, 0)])


def question(number, name, words="Who directed {}?"):
    step = {"function": "Find", "dependencies": [], "inputs": [name]}
    last = {"function": "QueryAttr", "dependencies": [0], "inputs": ["director"]}
    facts = (f"{name} was made by A.", "B is a film.")
    return Example(f"q{number}", words.format(name), facts, ONE, "A", (step, last), "query")


def facts(examples):
    texts = dict.fromkeys(fact for example in examples for fact in example.facts)
    return [{"id": f"F{n}", "sentence": text, "gold": False} for n, text in enumerate(texts)]


@pytest.fixture
def folders(tmp_path):
    """A dataset, and one that trains on "Persona" in other words and on the question about "Radium"."""
    names = ("Alpha", "Beta", "Persona", "Gamma", "Radium", "Delta")
    made = [question(number, name) for number, name in enumerate(names)]
    splits = {"train": made[:2], "dev": made[2:4], "test": made[4:]}
    write_dataset(tmp_path / "data", splits, facts(made), {"recipe": "rivals-2"})
    trained = [question(7, "Persona", "Name the director of {}."), replace(made[4], program=())]
    write_dataset(tmp_path / "first", {"train": trained, "dev": made[3:4], "test": made[5:]}, facts(trained + made), {})
    return tmp_path


def unseen(folders, *more):
    words = [str(folders / "data"), "--trained", str(folders / "first"), "--out", str(folders / "out")]
    return main(["data", "unseen", *words, *more])


def test_questions_are_the_same_by_words_or_program(folders, capsys):
    assert unseen(folders) == 0
    assert "train 2 (0 left out), dev 1 (1 left out), test 1 (1 left out)" in capsys.readouterr().out
    left = {split: [e.facts[0].split()[0] for e in load_split(folders / "out", split)] for split in ("dev", "test")}
    assert left == {"dev": ["Gamma"], "test": ["Delta"]}
    assert load_split(folders / "out", "train") == load_split(folders / "data", "train")
    assert verify_dataset(folders / "out").counts == {"train": 2, "dev": 1, "test": 1}
    about = json.loads((folders / "out" / "dataset.json").read_text())
    assert about["unseen_by"] == json.loads((folders / "first" / "dataset.json").read_text())["sha256"]
    assert about["recipe"] == "rivals-2"


def test_counts_are_those_of_the_questions_that_are_left(folders):
    splits = {split: load_split(folders / "data", split) for split in ("train", "dev", "test")}
    none = EvidenceGraph()
    splits["train"][0] = replace(splits["train"][0], answer="")
    persona, gamma = splits["dev"]
    splits["dev"] = [replace(persona, answer=""), replace(gamma, answer="", graph=none)]
    splits["test"] = [replace(one, graph=none) for one in splits["test"]]
    known = {
        "recipe": "rivals-2",
        "not_answerable": {"train": 0, "dev": 1, "test": 2},
        "without_answer": 2,
        "inferred_graphs": {"train": 0, "dev": 2, "test": 0},
        "graphs": {"given": 3},
        "distractors": {"near": 9},
    }
    write_dataset(folders / "data", splits, facts(chain(*splits.values())), known, overwrite=True)
    assert unseen(folders) == 0
    about = json.loads((folders / "out" / "dataset.json").read_text())
    assert about["counts"] == {"train": 2, "dev": 1, "test": 1}
    assert about["not_answerable"] == {"train": 0, "dev": 1, "test": 1}
    assert (about["without_answer"], about["unanswerable"], about["recipe"]) == (1, 2, "rivals-2")
    assert about["inferred_graphs"] == {"train": 0, "dev": 1, "test": 0}  # no more than there are
    assert about["graphs"] == known["graphs"]
    assert "distractors" not in about


def test_nothing_is_lost_or_half_written(folders, capsys):
    assert unseen(folders) == 0
    assert unseen(folders) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert unseen(folders, "--overwrite") == 0
    words = ["data", "unseen", str(folders / "data"), "--trained", str(folders / "data"), "--out"]
    assert main([*words, str(folders / "same")]) == 0  # its own training questions are in neither dev nor test
    write_dataset(
        folders / "all", {"train": load_split(folders / "data", "test"), "dev": [], "test": []}, facts([]), {}
    )
    assert (
        main(["data", "unseen", str(folders / "data"), "--trained", str(folders / "all"), "--out", str(folders / "x")])
        == 1
    )
    assert "trains on every question of test" in capsys.readouterr().err
    assert not (folders / "x").exists()
