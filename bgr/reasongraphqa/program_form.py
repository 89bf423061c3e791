"""Which programs are the same: functions, dependencies and inputs equal up to the order of independent branches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bgr.kb.program import Program

COMMUTATIVE = ("And", "Or", "SelectBetween")
"""Functions whose two branches may be swapped. Those about a relation read it from the first to the second."""


def program_form(records: Sequence[Mapping[str, Any]], where: str = "program") -> str:
    """A hash that two programs share if and only if they build their answer from the same steps.

    Each step is its function, its inputs (entities, values and predicates as they are written, whitespace folded) and
    the steps it depends on, whatever their numbers; a step that the last one does not need has no part in it.

    Raises:
        ProgramError: the program is malformed; the message names `where` and the step.
    """
    forms: list[str] = []
    for step in Program.from_json(records, where).steps:
        before = [forms[number] for number in step.dependencies]
        if step.function in COMMUTATIVE:
            before.sort()
        # hashed step by step: written out, a step that others share would be repeated each time
        text = json.dumps([step.function, step.inputs, before], ensure_ascii=True)
        forms.append(hashlib.sha256(text.encode()).hexdigest())
    return forms[-1]
