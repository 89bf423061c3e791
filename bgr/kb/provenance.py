"""Which facts an answer rests on, and which of them led to which (paper, section 3.2; backward slicing).

A step's result holds, for every node in it, the facts that put it there (its provenance): those of Filter*, QFilter*
and Relate are the facts of that step; And and Or unite both branches; FilterConcept leaves it as it was; Find and
FindAll start from nothing. A fact grounded from a node hangs from each fact of that node's provenance, or from the
question if there is none. `QueryRelation` and `QueryRelationQualifier` ground a fact from a pair of nodes, whose
provenance is the union. A fact does not hang from itself when a program reads it twice.

Slicing goes from the last step to the first and marks what the answer needs: nodes, and facts of a step that a
qualifier filter kept while it dropped other facts of the same node.
"""

from __future__ import annotations

from bgr.graph import ROOT, Edge
from bgr.kb.loading import FORWARD
from bgr.kb.program import Program
from bgr.kb.results import Answer, Nodes, Qualifier
from bgr.kb.schema import Fact
from bgr.kb.statement import Statement

Grounding = tuple[Statement, tuple[Statement, ...]]


def trace(program: Program, results: list[Nodes | Answer]) -> tuple[tuple[Fact, ...], tuple[Edge, ...]]:
    """Facts in order of first grounding, and sorted edges between their places; the root is ``ROOT``.

    Args:
        program: the program that was executed.
        results: what each of its steps gave.
    """
    return _Tracer(program, results).graph()


class _Tracer:
    """One backward pass marks what is needed, one forward pass grounds it."""

    def __init__(self, program: Program, results: list[Nodes | Answer]) -> None:
        self.steps = program.steps
        self.results = results
        # per step: needed nodes, each with those of its facts at this step that are needed (none for plain nodes)
        self.needed: list[dict[str, dict[Statement, None]]] = [{} for _ in results]
        self.used: dict[Statement, dict[Qualifier, None]] = {}
        self._facts_of: dict[int, dict[str, dict[Statement, None]]] = {}

    def graph(self) -> tuple[tuple[Fact, ...], tuple[Edge, ...]]:
        last = len(self.steps) - 1
        needed_answers = {last}
        for index in range(last, -1, -1):
            if isinstance(self.results[index], Answer):
                if index in needed_answers:
                    needed_answers.update(self._need_for_answer(index))
            else:
                self._need_for_nodes(index)
        return self._ground(needed_answers)

    # -- backward -----------------------------------------------------------------------------------------------------

    def _need_for_answer(self, index: int) -> list[int]:
        """Mark what an answer step reads; returns the answer steps among its dependencies."""
        step, result = self.steps[index], self.results[index]
        assert isinstance(result, Answer)
        if step.function in ("What", "Count"):
            before = self._nodes(step.dependencies[0])
            for node in before.unique:
                self._need(step.dependencies[0], node)
        self._use(result.facts, result.used)
        for place, dependency in enumerate(step.dependencies):
            if isinstance(self.results[dependency], Answer):
                return [dependency]
            for fact in result.facts:
                node = self._end(fact, place)
                if node in self._nodes(dependency).unique:
                    self._need(dependency, node)
        return []

    def _need_for_nodes(self, index: int) -> None:
        step, wanted = self.steps[index], self.needed[index]
        if not wanted:
            return
        if step.function.startswith("QFilter"):
            self._need_filtered(index)
        elif step.function == "Relate":
            direction = step.inputs[1]
            for facts in wanted.values():
                for fact in facts:
                    self._need(step.dependencies[0], _source(fact, direction))
        else:
            for dependency in step.dependencies:
                nodes = self._nodes(dependency).unique
                for node in wanted:
                    if node in nodes:
                        self._need(dependency, node)

    def _need_filtered(self, index: int) -> None:
        """A qualifier filter needs of the step before only the facts that it kept."""
        result = self._nodes(index)
        for node, fact, pair in zip(result.ids, result.facts or (), result.used or (), strict=True):
            if fact in self.needed[index].get(node, ()):
                self.needed[self.steps[index].dependencies[0]].setdefault(node, {})[fact] = None
                self._use([fact], [pair])

    def _need(self, index: int, node: str) -> None:
        """A node with all the facts that this step has for it."""
        self.needed[index].setdefault(node, {}).update(self._step_facts(index).get(node, {}))

    def _step_facts(self, index: int) -> dict[str, dict[Statement, None]]:
        found = self._facts_of.get(index)
        if found is None:
            found = self._facts_of[index] = {}
            result = self._nodes(index)
            if result.facts is not None:
                for node, fact in zip(result.ids, result.facts, strict=True):
                    found.setdefault(node, {})[fact] = None
        return found

    def _use(self, facts: object, used: object) -> None:
        for fact, pair in zip(facts or (), used or (), strict=False):  # type: ignore[call-overload]
            self.used.setdefault(fact, {})[pair] = None

    # -- forward ------------------------------------------------------------------------------------------------------

    def _ground(self, needed_answers: set[int]) -> tuple[tuple[Fact, ...], tuple[Edge, ...]]:
        number: dict[Fact, int] = {}
        edges: set[Edge] = set()
        for index in range(len(self.steps)):
            for statement, sources in self._groundings(index, needed_answers):
                fact = number.setdefault(self._fact(statement), len(number))
                before = {number[self._fact(source)] for source in sources} or {ROOT}
                edges.update((a, fact) for a in before if a != fact)
        return tuple(number), tuple(sorted(edges))

    def _groundings(self, index: int, needed_answers: set[int]) -> list[Grounding]:
        """The needed facts that a step grounds, each with the facts it hangs from."""
        step, result = self.steps[index], self.results[index]
        if isinstance(result, Answer):
            if index not in needed_answers or not result.facts:
                return []
            return [(fact, self._sources_of_answer(index, fact)) for fact in result.facts]
        if result.facts is None or step.function.startswith("QFilter"):
            return []
        before = step.dependencies[0]
        pairs = [(node, fact) for node, fact in zip(result.ids, result.facts, strict=True)]
        direction = step.inputs[1] if step.function == "Relate" else FORWARD
        return [
            (fact, self._provenance(before, _source(fact, direction)))
            for node, fact in pairs
            if fact in self.needed[index].get(node, ())
        ]

    def _sources_of_answer(self, index: int, fact: Statement) -> tuple[Statement, ...]:
        found: dict[Statement, None] = {}
        for place, dependency in enumerate(self.steps[index].dependencies):
            found.update(dict.fromkeys(self._provenance(dependency, self._end(fact, place))))
        return tuple(found)

    def _provenance(self, index: int, node: str) -> tuple[Statement, ...]:
        """The facts that put a node into a step's result; empty if the question names it."""
        if node not in self.needed[index]:
            return ()
        if self._nodes(index).facts is not None:
            return tuple(self.needed[index][node])
        found: dict[Statement, None] = {}
        for dependency in self.steps[index].dependencies:
            found.update(dict.fromkeys(self._provenance(dependency, node)))
        return tuple(found)

    def _fact(self, statement: Statement) -> Fact:
        return statement.fact(tuple(self.used.get(statement, ())))

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _nodes(self, index: int) -> Nodes:
        result = self.results[index]
        assert isinstance(result, Nodes)
        return result

    @staticmethod
    def _end(fact: Statement, place: int) -> str:
        """The node a fact was read from: an attribute's head; of a relation the head (left branch) or tail (right)."""
        return fact.tail if fact.tail is not None and place == 1 else fact.head


def _source(fact: Statement, direction: str) -> str:
    """The node a step's fact was grounded from."""
    return fact.head if direction == FORWARD else fact.tail or ""
