"""What comes before each fact as JSON: ``{"facts": [{"fact": 2, "after": []}, {"fact": 5, "after": [2]}]}``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.llm.read import field_of
from bgr.llm.schemas import WHOLE, Schema, list_of, object_of
from bgr.llm_graph.form import Form
from bgr.llm_graph.numbers import Numbers

MOST_BEFORE = 12
"""Facts before one."""


class ParentForm(Form):
    """A fact with nothing before it hangs from the question, also where all that was before it is unknown."""

    name = "parents"

    def schema(self, edges: int) -> Schema:
        fact = object_of(fact=WHOLE, after=list_of(WHOLE, MOST_BEFORE))
        return object_of(facts=list_of(fact, edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        rows = []
        for node in graph.order():
            before = graph.predecessors(node)
            # 0 is said only where it would not be understood
            after = [a + 1 for a in before] if set(before) != {ROOT} else []
            rows.append({"fact": node + 1, "after": after})
        return json.dumps({"facts": rows})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "facts", list)
        if rows is None:
            return None
        found: list[Edge] = []
        for row in rows:
            fact = numbers.place(row["fact"]) if isinstance(row, dict) and "fact" in row else None
            if fact is not None:
                places = [numbers.place(one) for one in field_of(row, "after", list) or []]
                found += [(a, fact) for a in places if a is not None] or [(ROOT, fact)]
        return found
