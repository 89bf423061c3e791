"""Provenance of an answer: the facts that support it and the edges between them (paper, section 3.2).

The provenance of a node in a step's result is the set of facts that put it there. Filter*, QFilter* and Relate replace
it by the facts of that step; And and Or unite that of both branches; FilterConcept keeps it; Find and FindAll start
with none. A fact grounded from a node has an edge from each fact of that node's provenance, or from the question if
there is none. `QueryRelation` and `QueryRelationQualifier` ground a fact from a pair of nodes, whose provenance is the
union. A fact that a program reads twice has no edge from itself.

Backward slicing goes from the last step to the first and marks the parts that the answer needs: nodes, and of the facts
of a step only those that a later qualifier filter kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bgr.data.kb.loading import FORWARD
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Answer, Fact, Nodes, Qualifier, Statement
from bgr.errors import ProgramError
from bgr.graph.evidence_graph import ROOT, Edge

Origins = tuple[tuple[int, str], ...]
"""The nodes that a fact was grounded from, each with the step that gave it."""
Grounding = tuple[Statement, Origins]


class TooManyFactsError(ProgramError):
    """More facts support an answer than allowed; `count` is their number."""

    def __init__(self, where: str, count: int, limit: int) -> None:
        super().__init__(f"{where}: {count} facts support the answer, allowed: {limit}")
        self.count = count


def trace(
    program: Program, results: list[Nodes | Answer], max_facts: int | None = None
) -> tuple[tuple[Fact, ...], tuple[Edge, ...]]:
    """Facts in order of first grounding, and sorted edges between their numbers; the question is ``ROOT``.

    Raises:
        TooManyFactsError: more than `max_facts` statements support the answer. Edges can be as many as pairs of them.
    """
    tracer = _Tracer(program, results)
    tracer.mark()
    groundings = tracer.groundings()
    count = len({statement for statement, _ in groundings})
    if max_facts is not None and count > max_facts:
        raise TooManyFactsError(program.where, count, max_facts)
    return tracer.graph(groundings)


class _Tracer:
    """A backward pass that marks the needed nodes and facts, and a forward pass that grounds them."""

    def __init__(self, program: Program, results: list[Nodes | Answer]) -> None:
        self.steps = program.steps
        self.results = results
        # for each step the needed nodes, each with its needed facts of this step (none for nodes without facts)
        self.needed: list[dict[str, dict[Statement, None]]] = [{} for _ in results]
        self.used: dict[Statement, dict[Qualifier, None]] = {}
        self.answers: set[int] = set()
        self._provenances: dict[tuple[int, str], tuple[Statement, ...]] = {}
        self._facts_of: dict[int, dict[str, dict[Statement, None]]] = {}

    def mark(self) -> None:
        """Mark what the answer needs, from the last step to the first."""
        self.answers = {len(self.steps) - 1}
        for index in range(len(self.steps) - 1, -1, -1):
            if isinstance(self.results[index], Nodes):
                self._need_for_nodes(index)
            elif index in self.answers:
                self.answers.update(self._need_for_answer(index))

    def _need_for_answer(self, index: int) -> list[int]:
        """Mark the nodes and facts that an answer step reads; returns the answer steps among its dependencies."""
        step, result = self.steps[index], self.results[index]
        assert isinstance(result, Answer)
        if step.function in ("What", "Count"):
            for node in self._nodes(step.dependencies[0]).unique:
                self._need(step.dependencies[0], node)
        self._use(result.facts, result.used)
        for place, dependency in enumerate(step.dependencies):
            if isinstance(self.results[dependency], Answer):
                return [dependency]
            self._need_known(dependency, (_end(fact, place) for fact in result.facts))
        return []

    def _need_for_nodes(self, index: int) -> None:
        step, wanted = self.steps[index], self.needed[index]
        if not wanted:
            return
        if step.function.startswith("QFilter"):
            self._need_filtered(index)
        elif step.function == "Relate":
            for facts in wanted.values():
                for fact in facts:
                    self._need(step.dependencies[0], _source(fact, step.inputs[1]))
        else:
            for dependency in step.dependencies:
                self._need_known(dependency, wanted)

    def _need_filtered(self, index: int) -> None:
        """Mark, of the facts of the step before a qualifier filter, only those that the filter kept."""
        result = self._nodes(index)
        for node, fact, pair in zip(result.ids, result.facts or (), result.used or (), strict=True):
            if fact in self.needed[index].get(node, ()):
                self.needed[self.steps[index].dependencies[0]].setdefault(node, {})[fact] = None
                self._use([fact], [pair])

    def _need_known(self, index: int, nodes: Iterable[str]) -> None:
        """Mark those of the nodes that are in the step's result."""
        known = self._nodes(index).unique
        for node in nodes:
            if node in known:
                self._need(index, node)

    def _need(self, index: int, node: str) -> None:
        """Mark a node with all the facts that the step has for it."""
        self.needed[index].setdefault(node, {}).update(self._step_facts(index).get(node, {}))

    def _step_facts(self, index: int) -> dict[str, dict[Statement, None]]:
        found = self._facts_of.get(index)
        if found is None:
            found = self._facts_of[index] = {}
            result = self._nodes(index)
            for node, fact in zip(result.ids, result.facts, strict=True) if result.facts is not None else ():
                found.setdefault(node, {})[fact] = None
        return found

    def _use(self, facts: Sequence[Statement], used: Sequence[Qualifier] | None) -> None:
        for fact, pair in zip(facts, used, strict=True) if used is not None else ():
            self.used.setdefault(fact, {})[pair] = None

    def groundings(self) -> list[Grounding]:
        """The needed facts in the order of their grounding, each with the nodes that it was grounded from."""
        found: list[Grounding] = []
        for index, (step, result) in enumerate(zip(self.steps, self.results, strict=True)):
            if isinstance(result, Answer):
                for fact in result.facts if index in self.answers else ():
                    found.append((fact, tuple((d, _end(fact, place)) for place, d in enumerate(step.dependencies))))
            elif result.facts is not None and not step.function.startswith("QFilter"):
                direction = step.inputs[1] if step.function == "Relate" else FORWARD
                before, needed = step.dependencies[0], self.needed[index]
                for node, fact in zip(result.ids, result.facts, strict=True):
                    if fact in needed.get(node, ()):
                        found.append((fact, ((before, _source(fact, direction)),)))
        return found

    def graph(self, groundings: list[Grounding]) -> tuple[tuple[Fact, ...], tuple[Edge, ...]]:
        """Number the facts and add edges from the facts of a node's provenance to the facts grounded from the node."""
        number: dict[Fact, int] = {}
        place: dict[Statement, int] = {}
        edges: set[Edge] = set()
        for statement, origins in groundings:
            if statement not in place:
                fact = statement.fact(tuple(self.used.get(statement, ())))
                place[statement] = number.setdefault(fact, len(number))
            after = place[statement]
            before = {place[source] for origin in origins for source in self._provenance(*origin)} or {ROOT}
            edges.update((a, after) for a in before if a != after)
        return tuple(number), tuple(sorted(edges))

    def _provenance(self, index: int, node: str) -> tuple[Statement, ...]:
        """The facts that put a node into a step's result; empty if the question names the node."""
        if node not in self.needed[index]:
            return ()
        known = self._provenances.get((index, node))
        if known is None:
            if self._nodes(index).facts is not None:
                known = tuple(self.needed[index][node])
            else:
                dependencies = self.steps[index].dependencies
                known = tuple(dict.fromkeys(f for d in dependencies for f in self._provenance(d, node)))
            self._provenances[index, node] = known
        return known

    def _nodes(self, index: int) -> Nodes:
        result = self.results[index]
        assert isinstance(result, Nodes)
        return result


def _end(fact: Statement, place: int) -> str:
    """The node a fact was read from: the head of an attribute; the head (left branch) or tail of a relation."""
    return fact.tail if fact.tail is not None and place == 1 else fact.head


def _source(fact: Statement, direction: str) -> str:
    """The node that a step's fact was grounded from."""
    return fact.head if direction == FORWARD else fact.tail or ""
