"""Reading entry by entry equals `json.load`, wherever the blocks end."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data import json_stream
from bgr.data.json_stream import read_items
from bgr.errors import DataError

ITEMS = [
    {"question": "Wer drehte „Persona“? 🎬", "program": [{"function": "Find", "inputs": ['a\\"b\n'], "n": []}]},
    [],
    {},
    "",
    -12.5e-3,
    12345678901234567890,
    0,
    True,
    None,
    [[["x" * 100]], {"k": {"k": False}}],
    float("inf"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("block", [1, 2, 3, 7, 31, 64, 1 << 20])
@pytest.mark.parametrize("layout", [{}, {"indent": 3}, {"separators": (",", ":")}, {"ensure_ascii": False}])
def test_every_border_of_blocks(tmp_path, block, layout):
    path = write(tmp_path / "a.json", " \n" + json.dumps(ITEMS, **layout) + "\n ")
    assert list(read_items(path, block=block)) == ITEMS


@given(items=st.lists(JSON), block=st.integers(1, 40), indent=st.none() | st.integers(0, 40))
def test_as_json_load(tmp_path_factory, items, block, indent):
    path = write(tmp_path_factory.mktemp("json") / "a.json", json.dumps(items, indent=indent))
    assert list(read_items(path, block=block)) == json.loads(path.read_text())


@pytest.mark.parametrize("block", [5, 1 << 20])
def test_every_cut_is_an_error_of_one_line(tmp_path, block):
    text = json.dumps(ITEMS, ensure_ascii=False)
    for length in range(len(text)):
        path = write(tmp_path / "cut.json", text[:length])
        with pytest.raises(DataError, match=r"cut\.json: not valid JSON at line 1, column \d+") as caught:
            list(read_items(path, block=block))
        assert "\n" not in str(caught.value)


@given(text=st.text(alphabet='[]{}",:01.e-+tfn\\u \n', max_size=25), block=st.integers(1, 9))
def test_garbage_is_refused_exactly_where_json_load_refuses(tmp_path_factory, text, block):
    path = write(tmp_path_factory.mktemp("json") / "a.json", text)
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if isinstance(expected, list):
        assert list(read_items(path, block=block)) == expected
    else:
        with pytest.raises(DataError):
            list(read_items(path, block=block))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[\n {"a": 1},\n {"a" 2}]', r"line 3, column 7 \(item 1\): Expecting ':' delimiter"),
        ("[1, 2,\n\n 3 4]", r"line 3, column 4 \(item 2\): Expecting ',' delimiter"),
        ("[1, 2", r"column 6 \(item 1\): Expecting ',' delimiter; the file is cut off"),
        ('[1, {"text": "and', r"column 14 \(item 1\): Unterminated string .*; the file is cut off"),
        ("[1] 2", r"line 1, column 5: Extra data"),
        ("[1,]", r"line 1, column 4 \(item 1\): Expecting value"),
        ("", r"line 1, column 1: Expecting value; the file is cut off"),
        ("[" * 100_000, r"nested too deeply"),
        ("[" + "1" * 5000 + "]", r"item 0\): a number of thousands of digits"),
        ('{"a": 1}', r"must hold a list, holds an object"),
        ("null", r"must hold a list, holds None"),
    ],
)
@pytest.mark.parametrize("block", [2, 1 << 20])
def test_errors_name_the_place(tmp_path, text, message, block):
    with pytest.raises(DataError, match=message):
        list(read_items(write(tmp_path / "a.json", text), block=block))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"none\.json: no such file"):
        list(read_items(tmp_path / "none.json"))
    with pytest.raises(DataError, match="cannot be read"):
        list(read_items(tmp_path))
    (tmp_path / "latin.json").write_bytes('["é"]'.encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.json: cannot be read"):
        list(read_items(tmp_path / "latin.json"))


def test_memory_holds_no_more_than_blocks(tmp_path):
    path = write(tmp_path / "a.json", json.dumps([{"text": "word " * 200}] * 20_000))  # 20 MB
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_items(path, block=1 << 16)) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_an_entry_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "LONGEST", 1000)
    path = write(tmp_path / "a.json", '["ok", "' + "x" * 100_000 + '"]')
    items = read_items(path, block=64)
    assert next(items) == "ok"
    with pytest.raises(DataError, match=r"\(item 1\): longer than 1,000 characters"):
        next(items)


def test_the_bar_counts_bytes(tmp_path, capsys):
    path = write(tmp_path / "train.json", json.dumps(["é" * 50] * 100, ensure_ascii=False))
    list(read_items(path, progress=True))
    assert "train.json" in capsys.readouterr().err
