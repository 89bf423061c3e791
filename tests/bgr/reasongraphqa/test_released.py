"""The authors' JSON, both ways."""

from __future__ import annotations

import json

import pytest

from bgr.cli import main
from bgr.errors import DataError
from bgr.example import Example
from bgr.graph import ROOT, EvidenceGraph
from bgr.reasongraphqa.construct import Settings, build
from bgr.reasongraphqa.dataset import load_split, write_dataset
from bgr.reasongraphqa.questions import read_questions
from bgr.reasongraphqa.released import from_released, lost_edges, read_released, to_released

PROGRAM = (
    {"function": "Find", "dependencies": [], "inputs": ["a"]},
    {"function": "What", "dependencies": [0], "inputs": []},
)
JOIN = [(ROOT, 0), (ROOT, 3), (0, 2), (3, 2), (2, 1)]


def example(edges, facts=("a.", "b.", "c.", "d.", "e.")):
    return Example("x-000000", "Q?", facts, EvidenceGraph(edges), "yes", PROGRAM, "query")


def test_the_form():
    record = to_released(example([(ROOT, 4), (4, 1)]))
    assert record["order_true_fact"] == [
        {"facts": "e.", "relation": {"before": [], "after": ["b."]}},
        {"facts": "b.", "relation": {"before": ["e."], "after": []}},
    ]
    assert record["fact"] == ["a.", "b.", "c.", "d.", "e."]
    assert set(record) == {"question", "answer", "program", "fact", "order_true_fact"}


@pytest.mark.parametrize("edges", [[(ROOT, 2)], JOIN, [(ROOT, 0), (0, 1), (0, 2), (ROOT, 4)]])
def test_there_and_back(edges):
    there = example(edges)
    assert from_released(json.loads(json.dumps(to_released(there))), "x-000000", "f") == there
    assert lost_edges(there) == 0


def test_what_the_form_cannot_hold():
    both = example([(ROOT, 0), (0, 1), (ROOT, 1)])
    assert lost_edges(both) == 1
    assert from_released(to_released(both), "x", "f").graph.edges == {(ROOT, 0), (0, 1)}
    with pytest.raises(DataError, match="two candidates are equal"):
        to_released(example([(ROOT, 0)], ("a.", "a.")))


def test_bad_records_are_named(tmp_path):
    good = to_released(example(JOIN))
    path = tmp_path / "train.json"
    for change in (
        {"fact": ["a."]},
        {"program": []},
        {"order_true_fact": [{"facts": "a.", "relation": {"before": ["b."], "after": []}}]},
    ):
        path.write_text(json.dumps([good, {**good, **change}]))
        with pytest.raises(DataError, match=r"train.json: item 1"):
            read_released(path, "train")
    del good["answer"]
    path.write_text(json.dumps([good]))
    with pytest.raises(DataError, match="'answer'"):
        read_released(path, "train")


def test_convert_both_ways(tmp_path, kb, source, encoder, capsys):
    result = build(kb, read_questions(source).questions, encoder, Settings())
    write_dataset(tmp_path / "ours", result.splits, [], {})
    assert main(["data", "convert", str(tmp_path / "ours"), str(tmp_path / "theirs"), "--to", "released"]) == 0
    assert {p.name for p in (tmp_path / "theirs").iterdir()} == {"train.json", "dev.json", "test.json"}
    assert main(["data", "convert", str(tmp_path / "theirs"), str(tmp_path / "back"), "--to", "bgr"]) == 0
    capsys.readouterr()
    for split in ("train", "dev", "test"):
        ours, back = load_split(tmp_path / "ours", split), load_split(tmp_path / "back", split)
        assert [(e.question, e.facts, e.type) for e in ours] == [(e.question, e.facts, e.type) for e in back]
        assert [e.graph for e in ours if not lost_edges(e)] == [
            b.graph for e, b in zip(ours, back, strict=True) if not lost_edges(e)
        ]
    assert main(["data", "convert", str(tmp_path / "ours"), str(tmp_path / "theirs"), "--to", "released"]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["data", "convert", str(tmp_path / "none"), str(tmp_path / "x"), "--to", "bgr"]) == 1
    assert not (tmp_path / "x").exists()
