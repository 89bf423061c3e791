"""What is a triple, among what files and models hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.triples.triple import MalformedRowError, three_parts


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
