"""Training questions in words by hand."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from bgr.data.example import Example
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.by_hand import WORDINGS, worded_by_hand
from bgr.data.reasongraphqa.construction.construct import Settings
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

LINES = files("bgr.data.atlas").joinpath(WORDINGS).read_text(encoding="utf-8").splitlines()
RECORDS = [json.loads(line) for line in LINES]


def example(record, id="train-000001", answerable=True):
    graph = EvidenceGraph([(ROOT, 0)] if answerable else [])
    return Example(
        id, "In other words?", ("A fact.",), graph, "x" if answerable else "", tuple(record["program"]), "query"
    )


def test_every_wording_has_a_program_and_says_it_once():
    assert len(RECORDS) >= 2_000
    assert len({one["question"].casefold() for one in RECORDS}) == len(RECORDS)
    assert len({json.dumps(one["program"]) for one in RECORDS}) == len(RECORDS)
    for one in RECORDS:
        Program.from_json(one["program"])
        assert one["question"] == " ".join(one["question"].split())


def test_none_of_them_is_a_question_of_the_test_sheets():
    programs = {json.dumps(one["program"]) for one in RECORDS}
    for sheet in ("hand_worded.json", "hand_worded_full.json"):
        asked = json.loads(files("bgr.data.atlas").joinpath(sheet).read_text(encoding="utf-8"))
        assert not programs & {json.dumps(one["program"]) for one in asked}


def test_a_question_is_repeated_in_other_words_with_the_same_evidence():
    plain = example(RECORDS[3])
    find = {"function": "Find", "dependencies": [], "inputs": ["Atlantis"]}
    unknown = example({"program": [find, {"function": "What", "dependencies": [0], "inputs": []}]}, "train-000002")
    missing = example(RECORDS[4], "train-000003", answerable=False)
    (found,) = worded_by_hand([plain, unknown, missing])
    assert (found.id, found.question) == ("train-000001-by-hand", RECORDS[3]["question"])
    assert (found.facts, found.graph, found.answer) == (plain.facts, plain.graph, plain.answer)


def test_a_dataset_of_which_none_was_worded_by_hand_is_told():
    with pytest.raises(DataError, match="no training question was worded by hand"):
        worded_by_hand([example(RECORDS[0], answerable=False)])


def test_a_split_by_wording_has_none():
    with pytest.raises(DataError, match="by hand"):
        Settings(by_hand=True, split="wording")
