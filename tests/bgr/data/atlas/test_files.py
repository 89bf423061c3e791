"""Atlas' files."""

from __future__ import annotations

import json

import pytest

from bgr.data.atlas.build import write_json

CONTENTS = [
    {},
    [],
    "x",
    {"a": {"é": [1, {"x": None}]}, "b": {}, "c": []},
    [{"question": 'a "b"', "program": []}, {}, 3, [1, [2, 3]]],
    {"concepts": {}, "entities": {"Q1": {"name": "ü", "score": 1.5}, "Q2": True}},
]


@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_what_is_written_piece_by_piece_is_what_is_written_at_once(tmp_path, content):
    write_json(tmp_path / "a.json", content)
    whole = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == whole
