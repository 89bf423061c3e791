"""Training questions worded by hand: further questions with the programs, candidates and evidence of those of Atlas.

The templates of Atlas have many words but few ways to leave words out. `bgr/data/atlas/wordings.jsonl` has questions of
`bgr atlas --full --questions 106000` that were worded from their programs alone, in fifteen different voices.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files

from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.leakage import program_form
from bgr.errors import DataError

WORDINGS = "wordings.jsonl"


def worded_by_hand(examples: Iterable[Example]) -> list[Example]:
    """For each question with an answer whose program was worded by hand, the same one in these words.

    Raises:
        DataError: there is none.
    """
    lines = files("bgr.data.atlas").joinpath(WORDINGS).read_text(encoding="utf-8").splitlines()
    wordings = {program_form(record["program"]): record["question"] for record in map(json.loads, lines)}
    asked = ((one, wordings.get(program_form(one.program, one.id))) for one in examples if one.answerable)
    found = [replace(one, id=f"{one.id}-by-hand", question=words) for one, words in asked if words is not None]
    if not found:
        raise DataError("by hand: no training question was worded by hand, as 4,500 of `bgr atlas --full` are")
    return found
