"""Files that take their names only when they are whole."""

import json
import math

import pytest

from bgr.errors import DataError
from bgr.utils.atomic_io import new_file, without_nan, write_json, write_lines, write_text


def test_text_json_and_lines(tmp_path):
    write_text(tmp_path / "a.md", "ä\n")
    assert (tmp_path / "a.md").read_bytes() == "ä\n".encode()
    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o644
    write_json(tmp_path / "a.json", {"a": [math.nan, math.inf, 1.5], "b": (1, {"c": -math.inf})})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [None, None, 1.5], "b": [1, {"c": None}]}
    write_lines(tmp_path / "a.jsonl", iter("ab"))
    assert (tmp_path / "a.jsonl").read_bytes() == b"a\nb\n"
    assert len(list(tmp_path.iterdir())) == 3


def test_what_was_there_stays_where_writing_fails(tmp_path):
    file = tmp_path / "a.txt"
    write_text(file, "old")

    def fail(**options):
        with new_file(file, **options) as path:
            path.write_text("ne")
            raise RuntimeError("stopped")

    for options in ({}, {"single": True}, {"durable": True}):
        with pytest.raises(RuntimeError):
            fail(**options)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(DataError, match=r"none/a\.txt: cannot be written: No such file"):
        write_text(tmp_path / "none" / "a.txt", "")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / "folder.txt", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder.txt"]


def test_numbers_are_kept():
    assert without_nan({"a": 0.1 + 0.2, "b": True, "c": "nan"}) == {"a": 0.1 + 0.2, "b": True, "c": "nan"}
