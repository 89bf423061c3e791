"""Damaged records of both forms: each is refused in one line or is a sample that can be written."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.convert import from_released, to_released
from bgr.data.reasongraphqa.io.dataset import parse_sample
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

STEPS = (
    {"function": "Find", "dependencies": [], "inputs": ["Ada"]},
    {"function": "QueryAttr", "dependencies": [0], "inputs": ["height"]},
)
GOOD = Example("x", "Q?", ("a", "b", "c"), EvidenceGraph([(ROOT, 1), (1, 0)]), "2", STEPS, "query")
VALUES = [None, True, -1, 0, 1.5, 10**30, "", "x", "\ud800", float("nan"), [], {}, [[]], [None], ["x"], [[-1, 0]]]
READERS = {
    "ours": (GOOD.to_json(), lambda record: parse_sample(json.dumps(record), "w")),
    "theirs": (to_released(GOOD), lambda record: from_released(json.loads(json.dumps(record)), "x", "w")),
}


def places(value: Any, before: tuple = ()) -> Iterator[tuple]:
    """The paths of all values inside a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*before, key)
        yield from places(inner, (*before, key))


def damaged(record: dict, rng: random.Random) -> dict:
    """The record with one value removed, repeated or replaced."""
    changed = copy.deepcopy(record)
    *way, last = rng.choice(list(places(changed)))
    holder = changed
    for key in way:
        holder = holder[key]
    how = rng.random()
    if how < 0.25:
        del holder[last]
    elif how < 0.4 and isinstance(holder, list):
        holder.insert(last, copy.deepcopy(holder[last]))
    else:
        holder[last] = rng.choice(VALUES)
    return changed


@pytest.mark.parametrize("form", READERS)
def test_damaged_records(form):
    record, read = READERS[form]
    assert read(record) == GOOD
    rng = random.Random(form)
    messages, accepted = [], 0
    for _ in range(1500):
        try:
            found = read(damaged(record, rng))
        except DataError as error:
            messages.append(str(error))
            continue
        accepted += 1
        assert json.dumps(found.to_json(), ensure_ascii=False).encode("utf-8")
        assert Example.from_json(found.to_json()) == found
    assert all(message.startswith("w: ") and "\n" not in message for message in messages)
    assert min(len(messages), accepted) > 100


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(DataError) as error:
        Example.from_json({**GOOD.to_json(), "facts": [1] * 1000})
    assert len(str(error.value)) < 200
