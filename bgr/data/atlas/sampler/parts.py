"""Questions about parts of other questions: programs that are cut, and worded anew.

A question about "the film starring A that was directed by B" has two smaller ones in it: which film that is (the inner
program alone), and the same about the film's name (the inner program replaced by its result). Their graphs have forms
that the whole ones may lack, as the graph of two facts side by side.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Condition, Description, Draft, Link, to_program
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.sampler import MAX_FACTS, MAX_WORDS, CheckedDraft, reveals_answer
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program, Step
from bgr.data.kb.schema import Nodes, Value
from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph

LEAST_FACTS = 2
"""Questions about a single fact are common enough."""


class NotUnderstood(BgrError):
    """A program that no draft of Atlas has."""


def part_questions(
    kb: KnowledgeBase, programs: Iterable[Program], *, most: int = 2, seed: int = 0
) -> Iterator[list[dict[str, Any]]]:
    """For each program the records ``{question, program, answer, phrasings}`` of at most `most` of its parts.

    A program that is not of Atlas' form has none. No record has a program of `programs`, or that of another record.
    """
    programs = list(programs)
    known = {program.steps for program in programs}
    rng = random.Random(f"parts {seed}")
    book = phrasebook()
    index, executor, phrasing = AtlasIndex(kb, book), Executor(kb), Phrasing(book, rng)
    for program in programs:
        records: list[dict[str, Any]] = []
        try:
            found = list(cuts(read_draft(program, index, executor), kb))
        except NotUnderstood:
            found = []
        rng.shuffle(found)
        for draft in found:
            if len(records) == most:
                break
            part = Program.from_json(to_program(draft))
            if part.steps in known:
                continue
            known.add(part.steps)
            record = _record(draft, part, executor, phrasing)
            if record is not None:
                records.append(record)
        yield records


def _record(draft: Draft, program: Program, executor: Executor, phrasing: Phrasing) -> dict[str, Any] | None:
    try:
        execution = executor.run(program, max_facts=MAX_FACTS)
        graph = EvidenceGraph(execution.edges)
    except BgrError:
        return None
    answers = execution.answers
    if len(answers) != 1 or answers[0] == "not sure" or len(execution.facts) < LEAST_FACTS:
        return None
    try:
        question = phrasing.question(draft)
    except KeyError:  # a relation or attribute of another knowledge base, for which Atlas has no words
        return None
    checked = CheckedDraft(draft, program.to_json(), answers[0], execution.facts, graph)
    if len(question.split()) > MAX_WORDS or reveals_answer(checked, question):
        return None
    return {
        "question": question,
        "program": checked.program,
        "answer": checked.answer,
        "phrasings": list(phrasing.phrasings),
    }


# -- cutting ----------------------------------------------------------------------------------------------------------


def cuts(draft: Draft, kb: KnowledgeBase) -> Iterator[Draft]:
    """Every draft with one cut: a described entity alone, or the draft with the entity's name instead."""
    for description, put in _ends(draft):
        for part, rebuilt in _described(description):
            if draft.function != "What" or part is not description:
                yield Draft("What", part)
                named = _by_name(part, kb)
                if named is not None:
                    yield put(rebuilt(named))


def _ends(draft: Draft) -> Iterator[tuple[Description, Callable[[Description], Draft]]]:
    """The one or two descriptions of a draft, each with what puts another in its place."""
    yield draft.subject, lambda one: replace(draft, subject=one)
    if draft.other is not None:
        yield draft.other, lambda one: replace(draft, other=one)


Rebuild = Callable[[Description], Description]


def _described(description: Description) -> Iterator[tuple[Description, Rebuild]]:
    """The parts that describe one entity without its name, the whole first, and what puts another in their place."""
    if description.single and description.name is None and (description.links or description.conditions):
        yield description, lambda other: other
    for place, link in enumerate(description.links):
        for part, rebuilt in _described(link.base):

            def put(other: Description, place: int = place, link: Link = link, inner: Rebuild = rebuilt) -> Description:
                links = list(description.links)
                links[place] = replace(link, base=inner(other))
                return replace(description, links=tuple(links))

            yield part, put


def _by_name(part: Description, kb: KnowledgeBase) -> Description | None:
    """The entity by its name, if no other has it."""
    name = kb.name(part.members[0])
    return Description(part.kind, part.members, name=name) if len(kb.ids(name)) == 1 else None


# -- programs to drafts -----------------------------------------------------------------------------------------------


def read_draft(program: Program, index: AtlasIndex, executor: Executor) -> Draft:
    """The draft of a program, the inverse of `to_program`.

    Raises:
        NotUnderstood: no draft has this program, or it cannot be executed.
    """
    try:
        draft = _Reader(program, index, executor).draft()
        same = Program.from_json(to_program(draft)).steps == program.steps
    except (BgrError, KeyError, IndexError) as error:
        raise NotUnderstood(str(error)) from None
    if not same:
        raise NotUnderstood("another order of its steps")
    return draft


class _Reader:
    def __init__(self, program: Program, index: AtlasIndex, executor: Executor) -> None:
        self.steps, self.index = program.steps, index
        self.results = executor.results(program)

    def draft(self) -> Draft:
        last = self.steps[-1]
        function, inputs = last.function, last.inputs
        if function.startswith("Verify"):
            asked = self.steps[last.dependencies[0]]
            qualifier = None
            if asked.function == "QueryAttrUnderCondition":
                qualifier = (asked.inputs[1], Value("string", asked.inputs[2]))
            elif asked.function != "QueryAttr":
                raise NotUnderstood(asked.function)
            subject = self.description(asked.dependencies[0])
            return Draft("Verify", subject, None, asked.inputs[0], _operator(last), last.value, qualifier)
        subject, *others = map(self.description, last.dependencies)
        other = others[0] if others else None
        match function:
            case "What" | "Count" | "QueryRelation":
                return Draft(function, subject, other)
            case "QueryAttr":
                return Draft(function, subject, key=inputs[0])
            case "QueryAttrUnderCondition":
                return Draft(function, subject, key=inputs[0], qualifier=(inputs[1], Value("string", inputs[2])))
            case "QueryAttrQualifier":
                statements = self.index.values(subject.members[0])[inputs[0]]
                value = next((s.value for s in statements if str(s.value) == inputs[1]), None)
                if value is None:
                    raise NotUnderstood("a value that is not stated")
                return Draft(function, subject, key=inputs[0], value=value, qualifier=(inputs[2], None))
            case "QueryRelationQualifier":
                return Draft(function, subject, other, key=inputs[0], qualifier=(inputs[1], None))
            case _:  # SelectBetween, SelectAmong
                return Draft(function, subject, other, key=inputs[0], op=inputs[1])

    def description(self, at: int) -> Description:
        kind, members = self._members(at)
        conditions: list[Condition] = []
        step = self.steps[at]
        while step.function.startswith(("Filter", "QFilter")) and step.function != "FilterConcept":
            qualifier = None
            if step.function.startswith("QFilter"):
                before = self.steps[step.dependencies[0]]
                if before.function == "Relate":
                    break
                qualifier, step = (step.inputs[0], _value(step)), before
            conditions.insert(0, Condition(step.inputs[0], _operator(step), _value(step), qualifier))
            at = step.dependencies[0]
            step = self.steps[at]
        concept = None
        if step.function == "FilterConcept":
            concept, at = step.inputs[0], step.dependencies[0]
        return replace(self._source(at), kind=kind, members=members, concept=concept, conditions=tuple(conditions))

    def _source(self, at: int) -> Description:
        step = self.steps[at]
        nothing = Description("", ())
        if step.function == "Find":
            return replace(nothing, name=step.inputs[0])
        if step.function == "FindAll":
            return nothing
        branches, join = [at], "And"
        if step.function in ("And", "Or"):
            join, branches = step.function, []
            while self.steps[at].function == join:  # the left branch holds all but the last
                at, last = self.steps[at].dependencies
                branches.insert(0, last)
            branches.insert(0, at)
        if all(self.steps[branch].function == "Find" for branch in branches):
            return replace(nothing, options=tuple(self.steps[branch].inputs[0] for branch in branches))
        return replace(nothing, links=tuple(map(self._link, branches)), join=join)

    def _link(self, at: int) -> Link:
        step, qualifier = self.steps[at], None
        if step.function.startswith("QFilter"):
            qualifier, step = (step.inputs[0], _operator(step), _value(step)), self.steps[step.dependencies[0]]
        if step.function != "Relate":
            raise NotUnderstood(step.function)
        return Link(self.description(step.dependencies[0]), step.inputs[0], step.inputs[1], qualifier)

    def _members(self, at: int) -> tuple[str, tuple[str, ...]]:
        found = self.results[at]
        if not isinstance(found, Nodes):
            raise NotUnderstood("a part that is no set of entities")
        members = tuple(dict.fromkeys(node for node in found.ids if node in self.index.kind))
        kinds = {self.index.kind[node] for node in members}
        if len(kinds) != 1:
            raise NotUnderstood("entities of several kinds, or of none")
        return kinds.pop(), members


def _operator(step: Step) -> str:
    return dict(step.named_inputs).get("op", "=")


def _value(step: Step) -> Value:
    assert step.value is not None
    return step.value
