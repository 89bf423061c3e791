"""Programs to drafts, the inverse of `bgr.data.atlas.question_tree.to_program`, and by it the same question in other
words.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Condition, Description, Draft, Link, to_program
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.sampler import MAX_WORDS
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program, Step
from bgr.data.kb.schema import Nodes, Value
from bgr.errors import BgrError


class NotUnderstood(BgrError):
    """A program that no draft of Atlas has."""


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


TRIES = 200
"""Wordings that are drawn until one has only allowed phrasings."""


class Rewording:
    """Words programs of a knowledge base anew; a question does not depend on those before it."""

    def __init__(self, kb: KnowledgeBase, seed: int = 0) -> None:
        book = phrasebook()
        self.seed, self.rng = seed, random.Random()
        self.index, self.executor, self.phrasing = AtlasIndex(kb, book), Executor(kb), Phrasing(book, self.rng)

    def question(self, program: Program, allowed: Collection[str], id: str = "") -> str | None:
        """The question of a program in allowed phrasings alone; ``None`` if Atlas has no draft or no words for the
        program, or if the words that it has always need another phrasing.

        Args:
            allowed: templates with their tables, as `Phrasing.phrasings` has them.
            id: draws other words of the same program.
        """
        try:
            draft = read_draft(program, self.index, self.executor)
        except NotUnderstood:
            return None
        self.rng.seed(f"reword {self.seed} {id}")
        for _ in range(TRIES):
            try:
                question = self.phrasing.question(draft)
            except KeyError:  # a relation or attribute of another knowledge base
                return None
            if len(question.split()) <= MAX_WORDS and all(used in allowed for used in self.phrasing.phrasings):
                return question
        return None
