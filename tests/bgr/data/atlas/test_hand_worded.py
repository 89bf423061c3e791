"""The sheets of questions worded by hand: each can be read as a question, and other than by a template."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bgr.data.atlas.build as module
from bgr.data.atlas.build import HAND_WORDED, HAND_WORDED_FULL, hand_worded
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program

SHEETS = {
    name: json.loads(Path(module.__file__).with_name(name).read_text(encoding="utf-8"))
    for name in (HAND_WORDED, HAND_WORDED_FULL)
}


@pytest.mark.parametrize("sheet", SHEETS.values(), ids=SHEETS)
def test_a_sheet_has_programs_of_every_kind(sheet):
    assert len(sheet) >= 150
    assert len({record["question"] for record in sheet}) == len(sheet)
    programs = [Program.from_json(record["program"]) for record in sheet]
    assert {program.steps[-1].function for program in programs} >= {
        "What", "Count", "QueryAttr", "QueryAttrQualifier", "QueryRelation", "QueryRelationQualifier", "SelectBetween",
        "SelectAmong", "VerifyNum", "VerifyStr", "VerifyYear",
    }  # fmt: skip
    for record in sheet:
        assert record["question"].endswith("?")
        assert record["question"] == " ".join(record["question"].split())
        assert record["answer"]


def test_questions_that_the_base_answers_otherwise_are_left_out(monkeypatch, tmp_path):
    find = {"function": "Find", "dependencies": [], "inputs": ["Norway"]}
    ask = {"function": "QueryAttr", "dependencies": [0], "inputs": ["population"]}
    record = {"question": "How many people live in Norway?", "answer": "5", "program": [find, ask]}
    unknown = {**record, "program": [{**find, "inputs": ["Atlantis"]}, ask]}
    (tmp_path / HAND_WORDED_FULL).write_text("[]")
    (tmp_path / HAND_WORDED).write_text(json.dumps([record, {**record, "answer": "6"}, unknown]))
    monkeypatch.setattr(module, "__file__", str(tmp_path / "hand_worded.py"))
    value = {"type": "quantity", "value": 5, "unit": "1"}
    statement = {"key": "population", "value": value, "qualifiers": {}}
    norway = {"name": "Norway", "instanceOf": ["Q1"], "attributes": [statement], "relations": []}
    kb = KnowledgeBase({"concepts": {"Q1": {"name": "country", "subclassOf": []}}, "entities": {"Q2": norway}})
    assert hand_worded(kb) == [record]
