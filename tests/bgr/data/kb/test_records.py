"""Reading a kb.json record by record gives the result of `json.load`."""

from __future__ import annotations

import json

import pytest

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import read_records
from bgr.errors import DataError

BASE = {
    "concepts": {"Q1": {"name": "film", "subclassOf": []}},
    "entities": {
        "E2": {"name": "Überall 🎬", "instanceOf": ["Q1"], "attributes": [], "relations": []},
        "E1": {"name": "M", "instanceOf": ["Q1"], "attributes": [], "relations": []},
    },
    "licence": "CC BY-SA 4.0",
}


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"ensure_ascii": False}])
def test_as_json_load(tmp_path, layout):
    path = tmp_path / "kb.json"
    path.write_text(json.dumps(BASE, **layout), encoding="utf-8")
    found = read_records(path)
    assert {
        name: dict(part) if isinstance(part, type(found["concepts"])) else part for name, part in found.items()
    } == BASE
    assert list(found["entities"]) == ["E2", "E1"]
    assert len(found["entities"]) == 2
    kb = KnowledgeBase.load(tmp_path)
    assert (kb.entities, kb.name("E2")) == (("E2", "E1"), "Überall 🎬")


def test_surrogate_pairs_are_read_and_lone_surrogates_refused(tmp_path):
    path = tmp_path / "kb.json"
    path.write_text(r'{"entities": {"E": {"name": "\ud83c\udfac"}}, "concepts": {}}')
    assert read_records(path)["entities"]["E"] == {"name": "🎬"}
    for half in (r'{"E": {"name": "\udfac\ud83c"}}', r'{"E\ud83c": {}}'):
        path.write_text(f'{{"entities": {half}, "concepts": {{}}}}')
        with pytest.raises(DataError, match=r"column \d+ \(entities 'E.*'\): half of a surrogate pair"):
            read_records(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "field 'concepts' must be an object"),
        ('{"concepts": {}, "entities": []}', "field 'entities' must be an object"),
        ('{"concepts": {}, "entities": {"E": 3}}', "entity 'E'"),
        ('{"concepts": {}, "entities": {"E": {"name": }}}', r"column 45 \(entities 'E'\): Expecting value"),
        ('{"concepts": {}, "entities": {"E" {}}}', "Expecting ':' delimiter"),
        ('{"concepts": {}, 3: 4}', "Expecting property name"),
        ('{"concepts": {}} x', "Extra data"),
        ('{"concepts": {}, "entities": {"E": 1, "E": 2}}', r"\(entities 'E'\): the id is repeated"),
        ('{"concepts": {}, "entities": {}, "concepts": {}}', r"'concepts' is repeated"),
    ],
)
def test_errors_name_the_place(tmp_path, text, message):
    (tmp_path / "kb.json").write_text(text)
    with pytest.raises(DataError, match=message):
        KnowledgeBase.load(tmp_path)


def test_every_cut_is_an_error(tmp_path):
    text = json.dumps(BASE)
    for length in range(len(text)):
        (tmp_path / "kb.json").write_text(text[:length])
        with pytest.raises(DataError, match=r"kb\.json: not valid JSON at line 1, column"):
            KnowledgeBase.load(tmp_path)
