"""Training questions worded by hand: further questions with the programs, candidates and evidence of those of Atlas.

The templates of Atlas have many words but few ways to leave words out. `bgr/data/atlas/wordings.jsonl` has questions of
`bgr atlas --full --questions 106000` that were worded from their programs alone, in seven different voices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from bgr.data.example import Example

WORDINGS = "wordings.jsonl"


def worded_by_hand(examples: Iterable[Example]) -> list[Example]:
    """For each question with an answer whose program was worded by hand, the same one in these words."""
    found = ((one, _wordings().get(_key(one.program))) for one in examples if one.answerable)
    return [replace(one, id=f"{one.id}-by-hand", question=words) for one, words in found if words is not None]


@cache
def _wordings() -> dict[str, str]:
    lines = files("bgr.data.atlas").joinpath(WORDINGS).read_text(encoding="utf-8").splitlines()
    return {_key(record["program"]): record["question"] for record in map(json.loads, lines)}


def _key(program: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps([dict(step) for step in program], sort_keys=True)
