"""Any file is parsed, or refused in one short line."""

from __future__ import annotations

import json

import pytest

from bgr.errors import DataError
from bgr.utils.json_utils import MAX_SHOWN, is_text, one_line, parse_json, repr_short


def test_parse_json_is_json_loads():
    assert parse_json('{"a": [1, 2.5, null, "\\ud83c\\udfac"]}', "f") == {"a": [1, 2.5, None, "🎬"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: not valid JSON at line 1, column 1: Expecting value"),
        ('{"a":\n 1 2}', "f: not valid JSON at line 2, column 4: Expecting ','"),
        ("\ufeff[]", "f: not valid JSON at line 1, column 1: Unexpected UTF-8 BOM"),
        ("[" * 100_000, "f: not valid JSON: nested too deeply"),
        ('{"a":' * 100_000, "f: not valid JSON: nested too deeply"),
        ("1" * 5000, "f: not valid JSON: a number of thousands of digits"),
    ],
)
def test_what_is_no_json(text, message):
    with pytest.raises(DataError) as caught:
        parse_json(text, "f", lines=True)
    assert str(caught.value).startswith(message)


def test_one_line_has_no_number():
    with pytest.raises(DataError, match=r"^line 7: not valid JSON at column 2: "):
        parse_json("[,]", "line 7")


@pytest.mark.parametrize("text", ["", "plain", "é🎬", "\x00", "\udc00", "a\ud83cb"])
def test_texts_are_what_utf_8_can_write(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        assert not is_text(text)
    else:
        assert is_text(text)
    assert not is_text([text])
    assert not is_text(None)


@pytest.mark.parametrize(
    "value", [None, True, 1.5, "two\nlines", ["a", {"b": 1}], "\ud800", {"a": None}], ids=lambda v: type(v).__name__
)
def test_short_values_are_shown_as_they_are(value):
    assert repr_short(value) == repr(value)


def test_long_and_deep_values_are_cut():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    wide = {str(n): list(range(1000)) for n in range(1000)}
    for value in ("x" * 10**6, 10**4000, deep, wide, [wide] * 1000, json.dumps(wide)):
        assert len(repr_short(value)) <= MAX_SHOWN
        assert "\n" not in repr_short(value)


def test_errors_of_others_on_one_line():
    assert one_line(ValueError("two\n  lines")) == "two lines"
    assert one_line(KeyError()) == "KeyError"
    assert len(one_line(ValueError("x" * 10_000))) < 500
