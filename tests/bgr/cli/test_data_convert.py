"""`bgr data convert` of a MuSiQue file writes a dataset that all other commands accept."""

import json

import pytest

from bgr.cli import main
from bgr.data.reasongraphqa.io.dataset import load_metadata, load_split
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def question(number):
    paragraphs = [
        {"idx": n, "title": f"Town {n} of {number}", "paragraph_text": f"Text {n}.", "is_supporting": n in (1, 3)}
        for n in range(5)
    ]
    steps = [
        {"question": "Where?", "answer": "x", "paragraph_support_idx": 3},
        {"question": "What is in #1 ?", "answer": "y", "paragraph_support_idx": 1},
    ]
    fields = {"id": f"2hop__{number}", "question": f"What {number}?", "answer": "y", "answer_aliases": []}
    return {**fields, "paragraphs": paragraphs, "question_decomposition": steps, "answerable": number != 7}


@pytest.fixture
def musique(tmp_path):
    path = tmp_path / "musique.jsonl"
    path.write_text("".join(json.dumps(question(number)) + "\n" for number in range(40)), encoding="utf-8")
    return path


def convert(*words):
    return main(["data", "convert", *map(str, words)])


def test_a_file_becomes_a_dataset(musique, tmp_path, capsys):
    out = tmp_path / "data"
    assert convert(musique, out, "--to", "bgr") == 0
    assert "left out: 1 (marked as not answerable), 2hop__7 for one" in capsys.readouterr().out
    splits = {split: load_split(out, split) for split in ("train", "dev", "test")}
    sizes = {split: len(part) for split, part in splits.items()}
    assert sum(sizes.values()) == 39
    assert sizes["train"] > sizes["test"] > 0 < sizes["dev"]
    for part in splits.values():
        assert all(example.graph == EvidenceGraph([(ROOT, 3), (3, 1)]) for example in part)
    sheet = load_metadata(out)
    assert (sheet["counts"], sheet["tried"]) == (sizes, 40)
    assert sheet["split"] == {"by": "SHA-256 of the id", "shares": {"train": 70, "dev": 10, "test": 20}}
    assert sheet["dropped"] == {"marked as not answerable": {"count": 1, "examples": ["2hop__7"]}}
    assert main(["data", "verify", str(out)]) == 0
    assert main(["data", "stats", str(out)]) == 0
    assert main(["data", "show", str(out)]) == 0


def test_shares(musique, tmp_path):
    out = tmp_path / "data"
    assert convert(musique, out, "--to", "bgr", "--shares", 0, 0, 1) == 0
    assert [len(load_split(out, split)) for split in ("train", "dev", "test")] == [0, 0, 39]


def test_to_the_released_form_and_back(musique, tmp_path):
    out, released, back = tmp_path / "data", tmp_path / "released", tmp_path / "back"
    assert convert(musique, out, "--to", "bgr") == 0
    assert convert(out, released, "--to", "released") == 0
    assert convert(released, back, "--to", "bgr") == 0
    graphs = [[example.graph for example in load_split(folder, "train")] for folder in (out, back)]
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("shares", [(0, 0, 0), (-1, 1, 1)])
def test_shares_that_are_none_are_one_line(musique, tmp_path, capsys, shares):
    assert convert(musique, tmp_path / "data", "--to", "bgr", "--shares", *shares) == 1
    assert "--shares: the shares are" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "data").exists()


def test_shares_are_for_musique_alone(tmp_path, capsys):
    for to in ("bgr", "released"):
        assert convert(tmp_path, tmp_path / "data", "--to", to, "--shares", 1, 1, 1) == 1
        assert "--shares is for a MuSiQue file" in capsys.readouterr().err


def test_a_damaged_file_leaves_nothing(musique, tmp_path, capsys):
    bad = question(41)
    del bad["question_decomposition"]
    with musique.open("a", encoding="utf-8") as file:
        file.write(json.dumps(bad) + "\n")
    assert convert(musique, tmp_path / "data", "--to", "bgr") == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "line 41: question_decomposition is missing" in last
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert convert(tmp_path / "no.json", tmp_path / "data", "--to", "bgr") == 1
    assert "no.json: no such file" in capsys.readouterr().err


def test_a_file_whose_questions_give_no_graph_is_one_line(tmp_path, capsys):
    path, out = tmp_path / "musique.jsonl", tmp_path / "data"
    path.write_text(json.dumps(question(7)) + "\n", encoding="utf-8")
    assert convert(path, out, "--to", "bgr") == 1
    assert "no question gives an evidence graph: 1 marked as not answerable" in capsys.readouterr().err
    assert not out.exists()
