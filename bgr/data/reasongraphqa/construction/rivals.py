"""Rival chains: facts about entities that satisfy a question's program but for one constraint (a kind of distractor).

"A film by X under 90 minutes" has to be compared with the other films by X and their running times. A rival takes the
place of the right entity in one step of the executed program:

- of a filter: an entity that came to the filter and has another value;
- of an intersection: an entity of one branch alone, with what it has in place of the other branch;
- of a name: another entity of the same concept about which the next step can ask the same.

The later steps are executed for the rival alone, as far as they go. Its facts are the provenance of that execution, so
that a rival in the middle of a program leads to a chain of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

from bgr.data.kb.executor import Executor, run_step
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import BACKWARD, FORWARD, OPPOSITE
from bgr.data.kb.program import Program, Step
from bgr.data.kb.provenance import trace
from bgr.data.kb.schema import Answer, Fact, Nodes, Statement
from bgr.errors import DataError

MAX_FAN = 2
"""Maximum number of entities at the end of a rival's chain that stops before the program does."""
MAX_NAMES = 64
"""Maximum number of other names that are drawn for a name."""
MAX_POOL = 4096
"""Maximum number of entities of a step that are tried, a random part of more."""

Results = Sequence[Nodes | Answer]


@dataclass(frozen=True)
class Rival:
    """An entity in the place of the right one at one step, with the facts that show it.

    `failing` is the fact with the value that fails the constraint; ``None`` for the rival of a name. A rival is
    `complete` if its chain goes on to the program's last step.
    """

    step: int
    entity: str
    facts: tuple[Fact, ...]
    failing: Fact | None = None
    complete: bool = True


@dataclass(frozen=True)
class _Place:
    """The result of a step for a rival alone, and the statement that fails the constraint."""

    nodes: Nodes
    failing: Statement | None = None


class RivalFinder:
    """Finds rivals of the entities of executed programs.

    Args:
        executor: runs programs over the knowledge base.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.kb = executor.kb
        self._pools: dict[tuple[tuple[str, ...], str], tuple[str, ...]] = {}

    def find(self, program: Program, rng: Random) -> Iterator[Rival]:
        """Rivals: first those of constraints, then those of names, complete ones before the others.

        The steps take turns, and the rivals of each come in random order. The program must be one that `Executor.run`
        executes.
        """
        results = self.executor.results(program)
        steps = [index for index, result in enumerate(results) if isinstance(result, Nodes)]
        rng.shuffle(steps)
        names = [index for index in steps if program.steps[index].function == "Find"]
        constraints = [index for index in steps if index not in names]
        incomplete: list[Rival] = []
        for rival in chain.from_iterable(self._in_turns(program, results, part, rng) for part in (constraints, names)):
            if rival.complete:
                yield rival
            else:
                incomplete.append(rival)
        yield from incomplete

    def _in_turns(self, program: Program, results: Results, steps: Sequence[int], rng: Random) -> Iterator[Rival]:
        sources = {index: self._places(program, results, index, rng) for index in steps}
        seen: set[tuple[int, str]] = set()
        while sources:
            for index in list(sources):
                place = next(sources[index], None)
                if place is None:
                    del sources[index]
                    continue
                [entity] = dict.fromkeys(place.nodes.ids)
                if (index, entity) not in seen:
                    seen.add((index, entity))
                    yield self._rival(program, results, index, place, entity, rng)

    # -- the places that a rival can take -----------------------------------------------------------------------------

    def _places(self, program: Program, results: Results, index: int, rng: Random) -> Iterator[_Place]:
        step = program.steps[index]
        if step.function.startswith("Filter") and step.function != "FilterConcept":
            return self._failing_attribute(results, index, step, rng)
        if step.function.startswith("QFilter"):
            return self._failing_qualifier(results, index, step, rng)
        if step.function == "And":
            return self._one_branch(program, results, index, rng)
        if step.function == "Find":
            return self._other_name(program, results, index, rng)
        return iter(())

    def _failing_attribute(self, results: Results, index: int, step: Step, rng: Random) -> Iterator[_Place]:
        rows = self.kb.attribute_rows(step.inputs[0])
        passed = _nodes(results, index).unique
        for node in _shuffled(_nodes(results, step.dependencies[0]).unique, rng):
            if node in rows and node not in passed:
                failing = rng.choice(rows[node])
                yield _Place(Nodes([node], [failing]), failing)

    def _failing_qualifier(self, results: Results, index: int, step: Step, rng: Random) -> Iterator[_Place]:
        before, key = _nodes(results, step.dependencies[0]), step.inputs[0]
        passed = set(_nodes(results, index).facts or ())
        pairs = list(zip(before.ids, before.facts or (), strict=True))
        for node, fact in _shuffled(pairs, rng):
            values = fact.qualifier(key)
            if values and fact not in passed:
                yield _Place(Nodes([node], [fact], [(key, values[0])]), fact)

    def _one_branch(self, program: Program, results: Results, index: int, rng: Random) -> Iterator[_Place]:
        branches = program.steps[index].dependencies
        passed = _nodes(results, index).unique
        pairs = [
            (node, other)
            for branch, other in (branches, branches[::-1])
            for node in _nodes(results, branch).unique
            if node not in passed
        ]
        for node, other in _shuffled(pairs, rng):
            failing = self._instead(program, other, node, rng)
            if failing is not None:
                yield _Place(Nodes([node]), failing)

    def _instead(self, program: Program, branch: int, node: str, rng: Random) -> Statement | None:
        """A statement of a node with the predicate of a branch's last constraint; ``None`` if it has none."""
        step = program.steps[branch]
        while step.function == "FilterConcept" or step.function.startswith("QFilter"):
            step = program.steps[step.dependencies[0]]
        if step.function == "Relate":
            predicate, direction = step.inputs
            rows = self.kb.relation_rows(predicate, OPPOSITE[direction])
        elif step.function.startswith("Filter"):
            rows = self.kb.attribute_rows(step.inputs[0])
        else:
            return None
        return rng.choice(rows[node]) if node in rows else None

    def _other_name(self, program: Program, results: Results, index: int, rng: Random) -> Iterator[_Place]:
        own = _nodes(results, index).unique
        if not own:
            return
        node = next(iter(own))
        names = {self.kb.name(found) for found in own}
        for _ in range(MAX_NAMES):
            other = self._alike(program, results, index, node, rng)
            if other is None:
                return
            if self.kb.name(other) not in names:
                yield _Place(Nodes([other]))

    def _alike(self, program: Program, results: Results, index: int, node: str, rng: Random) -> str | None:
        """A random entity about which the step that reads `node` can ask the same; ``None`` if there is none."""
        reader = _reader(program, index)
        step = program.steps[reader]
        if step.function == "Relate":
            return self._draw(step.inputs, self.kb.relation_rows(*step.inputs), node, rng)
        if step.function in ("QueryRelation", "QueryRelationQualifier"):
            result = results[reader]
            assert isinstance(result, Answer)
            return _other_end(self.kb, rng.choice(list(result.facts)), node, rng) if result.facts else None
        if step.signature.inputs[:1] != ("key",):
            return None
        return self._draw(step.inputs[:1], self.kb.attribute_rows(step.inputs[0]), node, rng)

    def _draw(
        self, name: tuple[str, ...], rows: Mapping[str, Sequence[Statement]], node: str, rng: Random
    ) -> str | None:
        """A random entity of the `rows` of that name that belongs to the first concept of `node`."""
        concept = next(iter(self.kb.concepts_of(node)), "")
        pool = self._pools.get((name, concept))
        if pool is None:
            pool = tuple(other for other in rows if not concept or concept in self.kb.concepts_of(other))
            self._pools[name, concept] = pool
        return rng.choice(pool) if pool else None

    # -- the facts of a rival -----------------------------------------------------------------------------------------

    def _rival(self, program: Program, results: Results, index: int, place: _Place, entity: str, rng: Random) -> Rival:
        found, last = self._provenance(program, results, index, place.nodes, rng)
        facts = list(found)
        failing = None if place.failing is None else place.failing.fact()
        if failing is not None and not any(fact.statement == failing.statement for fact in facts):
            facts.append(failing)
        return Rival(index, entity, tuple(facts), failing, complete=last == len(program.steps) - 1)

    def _provenance(
        self, program: Program, results: Results, index: int, nodes: Nodes, rng: Random
    ) -> tuple[tuple[Fact, ...], int]:
        """The facts of the execution with `nodes` as the result of step `index`, and the last step that it reaches.

        No step has more entities than in the execution for the right ones.
        """
        found = list(results)
        found[index] = nodes
        changed, last = {index}, index
        for number in range(index + 1, len(found)):
            step = program.steps[number]
            if changed.isdisjoint(step.dependencies):
                continue
            try:
                result = run_step(self.kb, step, found)
            except DataError:
                break
            if isinstance(result, Nodes):
                result = _narrowed(result, len(_nodes(results, number).unique), rng)
                if not result.ids:
                    break
            found[number] = result
            changed.add(number)
            last = number
        steps = program.steps[: last + 1]
        found = found[: last + 1]
        if isinstance(found[-1], Nodes):
            found[-1] = _narrowed(found[-1], MAX_FAN, rng)
            steps = (*steps, Step("What", (last,)))
            found.append(run_step(self.kb, steps[-1], found))
        facts, _ = trace(Program(steps, program.where), found)
        return facts, last


def _nodes(results: Results, index: int) -> Nodes:
    result = results[index]
    assert isinstance(result, Nodes)
    return result


def _reader(program: Program, index: int) -> int:
    """The step that reads the result of a step, past filters by concept."""
    for number in range(index + 1, len(program.steps)):
        if index in program.steps[number].dependencies:
            return _reader(program, number) if program.steps[number].function == "FilterConcept" else number
    return index


def _other_end(kb: KnowledgeBase, statement: Statement, node: str, rng: Random) -> str | None:
    """The end of another statement with the same predicate and the same other end as `statement`."""
    fixed = statement.head if statement.tail == node else statement.tail or ""
    direction = FORWARD if fixed == statement.head else BACKWARD
    ends = [
        (row.tail or "") if direction == FORWARD else row.head
        for row, way in kb.relations(fixed)
        if way == direction and row.predicate == statement.predicate and node not in (row.head, row.tail)
    ]
    return rng.choice(ends) if ends else None


def _narrowed(nodes: Nodes, most: int, rng: Random) -> Nodes:
    """The nodes, or a random few of many."""
    if len(nodes.ids) <= most:
        return nodes
    chosen = sorted(rng.sample(range(len(nodes.ids)), most))
    ids = list(nodes.ids)
    facts, used = nodes.facts, nodes.used
    return Nodes(
        [ids[n] for n in chosen],
        None if facts is None else [facts[n] for n in chosen],
        None if used is None else [used[n] for n in chosen],
    )


def _shuffled(items: Sequence | Mapping, rng: Random) -> list:
    found = list(items)
    if len(found) > MAX_POOL:
        found = rng.sample(found, MAX_POOL)
    else:
        rng.shuffle(found)
    return found
