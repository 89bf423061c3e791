"""Triples: their parts, entities and neighbors, compared with dicts and loops."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.triples import triple as triple_list
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import (
    EntityNumbers,
    MalformedRowError,
    Triple,
    entity_key,
    members_of,
    pack,
    three_parts,
)
from bgr.errors import DataError

NAMES = [
    "Gold",
    "gold",
    " GOLD",
    "Straße",
    "STRASSE",
    "①",
    "1",
    "a  b",
    "A\tb",
    "ﬁn",
    "fin",
    "é",
    "e\u0301",
    "Ǆ",
    "Σ",
    "ς",
]
PARTS = st.sampled_from([*NAMES, "𝄞", "İ", "i̇", "\u00a0x", "\u0345", "ι", "１"])
TRIPLES = st.lists(st.builds(Triple, PARTS, st.sampled_from(["", "is", "é𝄞"]), PARTS, st.integers(0, 4)), max_size=12)


def same(a: str, b: str) -> bool:
    one, other = (unicodedata.normalize("NFKC", name).casefold().split() for name in (a, b))
    return one == other


def slow_numbers(triples: list[Triple]) -> tuple[list[int], list[int]]:
    """Each name gets the number of the first one seen that is the same, or the next number."""
    seen: list[str] = []
    found: list[int] = []
    for triple in triples:
        for name in (triple.subject, triple.object):
            number = next((n for n, other in enumerate(seen) if same(name, other)), len(seen))
            if number == len(seen):
                seen.append(name)
            found.append(number)
    return found[::2], found[1::2]


@given(TRIPLES)
def test_numbers_and_texts(triples):
    packed, head, tail = pack(iter(triples))
    assert (head.tolist(), tail.tolist()) == slow_numbers(triples)
    assert list(packed) == triples
    assert len(packed) == len(triples)
    assert packed[1:3] == triples[1:3]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_members_and_neighbors(pairs):
    head, tail = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    starts, members = members_of(head, tail)
    entities = max((max(pair) for pair in pairs), default=-1) + 1
    assert len(starts) == entities + 1
    for entity in range(entities):
        expected = [number for number, pair in enumerate(pairs) if entity in pair]
        assert members[starts[entity] : starts[entity + 1]].tolist() == expected
    triples = [Triple(f"e{a}", "is", f"e{b}", 0) for a, b in pairs]
    index = TripleIndex.build(triples, lambda texts: np.ones((len(texts), 1), np.float32))
    for number, pair in enumerate(pairs):
        expected = [other for other in range(len(pairs)) if other != number and set(pairs[other]) & set(pair)]
        assert index.neighbors(number).tolist() == expected


def test_which_names_are_one():
    assert entity_key(" The\u00a0 Seventh\n SEAL ") == "the seventh seal"
    numbers = EntityNumbers()
    assert [numbers[name] for name in ("Ⅳ", "x", "iv", "IV", "é", "e\u0301")] == [0, 1, 0, 0, 2, 2]


def test_blocks_go_on_where_the_last_ended(monkeypatch):
    triples = [Triple(f"s{n % 7}", "is", f"o{n % 5}", n) for n in range(40)]
    whole = pack(triples)
    monkeypatch.setattr(triple_list, "BLOCK", 3)
    parts = pack(triples)
    assert list(parts[0]) == triples
    assert all(np.array_equal(a, b) for a, b in zip(whole[1:], parts[1:], strict=True))
    monkeypatch.setattr(triple_list, "BLOCK", 3)
    with pytest.raises(DataError, match=r"^triple 40: \('a', 'b', ' '\)"):
        pack([*triples, Triple("a", "b", " ", 0)])


def test_places_in_the_list():
    packed, _, _ = pack([Triple("a", "b", "c", 7), Triple("d", "e", "f", 8)])
    assert packed[-1] == packed[1] == packed[np.int64(1)] == Triple("d", "e", "f", 8)
    for number in (2, -3):
        with pytest.raises(IndexError):
            packed[number]


@pytest.mark.parametrize("part", range(3))
def test_what_utf8_cannot_write(part):
    parts = ["a", "b", "c"]
    parts[part] = "half \ud800"
    with pytest.raises(DataError, match="UTF-8"):
        pack([Triple(*parts, 0)])


def test_parts_are_put_on_one_line():
    assert three_parts([" Ingmar\tBergman", "directed\n", "Persona"]) == ("Ingmar Bergman", "directed", "Persona")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("abc", "not a list"),
        ({"subject": "a", "predicate": "b", "object": "c"}, "not a list"),
        (None, "not a list"),
        ([], "not three parts"),
        (["a", "b"], "not three parts"),
        (["a", "b", "c", "d"], "not three parts"),
        (["a", "b", None], "a part is not text"),
        (["a", 1, "c"], "a part is not text"),
        (["a", ["b"], "c"], "a part is not text"),
        (["a", "b", "half \ud83d"], "a part is not text"),
        (["a", "", "c"], "an empty part"),
        ([" \n\u00a0", "b", "c"], "an empty part"),
    ],
)
def test_what_is_no_triple(row, reason):
    with pytest.raises(MalformedRowError) as caught:
        three_parts(row)
    assert caught.value.reason == reason
    assert "\n" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x, max_size=4), max_leaves=6
)


@given(JSON)
def test_anything_is_a_triple_or_malformed(row):
    try:
        parts = three_parts(row)
    except MalformedRowError:
        return
    assert all(part == " ".join(part.split()) != "" for part in parts)
    assert [part.split() for part in parts] == [part.split() for part in row]
