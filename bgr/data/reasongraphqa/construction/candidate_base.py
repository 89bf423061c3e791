"""Execution of a program over its candidates' statements alone: the proof that a question has no answer in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import BACKWARD, FORWARD
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Answer, Fact, Nodes
from bgr.errors import ProgramError


class CandidateBase:
    """Makes small knowledge bases that hold some statements of a larger one, with its names and concepts."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self._concepts = {i: {"name": kb.name(i), "instanceOf": list(kb.concepts_of(i))} for i in kb.concepts}

    def answer(self, program: Program, facts: Iterable[Fact]) -> str | list[str] | None:
        """The answer that the facts support; ``None`` if they support none.

        A count of nothing, a comparison without values and a "no" for want of a value are no answers.
        """
        executor = Executor(KnowledgeBase(self._records(facts), "candidates"))
        try:
            results = executor.results(program)
        except ProgramError:  # nothing to compare
            return None
        last = results[-1]
        assert isinstance(last, Answer)
        return last.text if _supported(program, results) else None

    def _records(self, facts: Iterable[Fact]) -> dict[str, Any]:
        entities: dict[str, Any] = {}
        for fact in facts:
            qualifiers: dict[str, list[Any]] = {}
            for key, value in fact.qualifiers:
                qualifiers.setdefault(key, []).append(value.to_json())
            if fact.tail is None:
                assert fact.value is not None
                row = {"key": fact.predicate, "value": fact.value.to_json(), "qualifiers": qualifiers}
                self._record(entities, fact.head)["attributes"].append(row)
                continue
            for node, other, direction in ((fact.head, fact.tail, FORWARD), (fact.tail, fact.head, BACKWARD)):
                if node not in self._concepts:  # a relation is stored at its entities
                    row = {"relation": fact.predicate, "object": other, "direction": direction}
                    self._record(entities, node)["relations"].append({**row, "qualifiers": qualifiers})
        return {"concepts": self._concepts, "entities": entities}

    def _record(self, entities: dict[str, Any], node: str) -> dict[str, Any]:
        if node not in entities:
            parents = list(self.kb.concepts_of(node))
            entities[node] = {"name": self.kb.name(node), "instanceOf": parents, "attributes": [], "relations": []}
        return entities[node]


def _supported(program: Program, results: list[Nodes | Answer]) -> bool:
    """True if the last step read something: nodes, values, or statements (of both sides of a comparison)."""
    last, result = program.steps[-1], results[-1]
    before = [results[dependency] for dependency in last.dependencies]
    if not all(found.ids if isinstance(found, Nodes) else found.values for found in before):
        return False
    if last.function in ("What", "Count") or last.function.startswith("Verify"):
        return True
    assert isinstance(result, Answer)
    heads = {fact.head for fact in result.facts}
    sides = [found for found in before if isinstance(found, Nodes)] if last.function == "SelectBetween" else []
    return bool(heads) and all(heads & side.unique.keys() for side in sides)
