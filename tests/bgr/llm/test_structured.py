"""The parser of replies: right on what models write, and never an exception on anything else."""

import json
import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.errors import BgrError
from bgr.llm.structured import MAX_REPAIRED, parse_object, parse_text

TRIPLES = {
    "type": "object",
    "properties": {
        "triples": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        },
        "score": {"type": "number"},
    },
    "required": ["triples"],
}
REPLY = '{"triples": [["Lyon", "lies in", "France"], ["it\'s", "\\"big\\"", "caf\\u00e9"]], "score": 0.5}'


@pytest.mark.parametrize(
    ("text", "triples"),
    [
        (REPLY, 2),
        (f"Here it is:\n```json\n{REPLY}\n```\nAnything else?", 2),
        ('{"triples": [["a", "b", "c"],]}', 1),
        ("{'triples': [['a', 'b', 'c']]}", 1),
        ('{"triples": [["a", "b", "c"], ["d", "e", "f"]', 2),
        ('[1] {"triples": []}', 0),
        ('{"triples": []}\n{"other": 1}', 0),
    ],
)
def test_what_models_write(text, triples):
    value, problem = parse_object(text, TRIPLES)
    assert problem is None
    assert len(value["triples"]) == triples


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I cannot.", "no JSON"),
        ('{"triples": [["a", "b"]]}', r"\$\.triples\[0\]: \['a', 'b'\] is too short"),
        ('{"triples": [["a", "b"', r"too short"),
        ('{"triple": []}', "'triples' is a required property"),
        ('{"triples": [], "score": NaN}', "."),
        ('{"triples": [], "score": 1e999}', "."),
        ("[" * 100_000, "."),
        ('{"triples":' * 900, "."),
        (f'{{"triples": [], "score": {"9" * 5000}}}', "."),
        ("x" * (MAX_REPAIRED + 1), "too long to be repaired"),
    ],
)
def test_what_is_wrong_on_one_line(text, problem):
    value, found = parse_object(text, TRIPLES)
    assert value is None
    assert re.search(problem, found)
    assert "\n" not in found
    assert len(found) < 500


def test_half_a_surrogate_pair_can_be_written_afterwards():
    value, _ = parse_object('{"triples": [["\\ud800", "b", "c"]]}', TRIPLES)
    assert value["triples"][0][0].encode("utf-8") == b"?"


def test_a_schema_that_is_none():
    with pytest.raises(BgrError, match="not a JSON schema"):
        parse_object("{}", {"type": "thing"})


def test_text():
    assert parse_text(" a\n") == ("a", None)
    assert parse_text("\t\n")[0] is None


def random_text(draw):
    """Letters, JSON's own characters, or a good reply with some characters changed, left out, repeated or cut off."""
    kind = draw.randrange(3)
    if kind == 0:
        return "".join(chr(draw.randrange(0x3000)) for _ in range(draw.randrange(60)))
    if kind == 1:
        parts = [
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            ":",
            ",",
            "\\",
            "\n",
            "```",
            "null",
            "1e9",
            "//",
            "/*",
            "a",
            "\ud800",
            "\\u",
        ]
        return "".join(draw.choice(parts) for _ in range(draw.randrange(60)))
    text = list(REPLY)
    for _ in range(draw.randrange(1, 9)):
        place = draw.randrange(len(text))
        text[place] = draw.choice(["", text[place] * 2, chr(draw.randrange(256)), draw.choice(list('{}[]",:\\'))])
    return "".join(text)[: draw.choice([None, draw.randrange(len(text))])]


def check(text, again=True):
    """A value or a problem, the same each time; a value can be serialized as strict JSON."""
    value, problem = parse_object(text, TRIPLES)
    assert (value is None) == isinstance(problem, str)
    assert problem is None or (problem and "\n" not in problem)
    if value is not None:
        assert all(len(triple) == 3 for triple in value["triples"])
        assert math.isfinite(value.get("score", 0))
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert not again or parse_object(text, TRIPLES) == (value, problem)
    return value is not None


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.workflow)])
def test_random_strings(count):
    draw = random.Random(6)
    fits = sum(check(random_text(draw), again=i % 5 == 0) for i in range(count))
    # a third are good replies with faults in them, of which repair saves a part
    assert count / 20 < fits < count / 4


@given(st.text(max_size=200))
def test_any_string(text):
    check(text)
