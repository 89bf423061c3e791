"""Execution of KoPL programs: the answer, and on request the facts behind it and how one led to another.

Where KoPL's documentation leaves a question open, we follow ``kopl``. Where ``kopl`` leaves the order of a list, or the
choice between equals, to a hash table, ours is the order of first appearance, the left branch before the right;
``bgr bench kopl`` compares lists without their order and counts such choices as tied (``--random --programs 50000`` for
all functions). The open questions and their answers, each with its test in
``tests/bgr/data/kb/test_kopl_questions.py``:

- *Ambiguous names*: Find gives every entity and concept of that name, and each later step works on all of them;
  FilterConcept keeps the members of every concept of that name. FindAll gives the concepts too, and the concepts
  below a concept are among its members. Whitespace in names is normalized.
- *Several values of a key*: Filter* and QFilter* keep a node once for each statement that fits, Relate gives an end
  once for each relation; What and Count repeat it as often, while And, Or, FilterConcept and the input of Filter*,
  Relate and SelectAmong are sets. ``!=`` requires a statement with another value: a node without the key is not kept.
  QueryAttr gives all values; Verify* says "yes" if all fit, "no" if none does or there is none, else "not sure". If a
  qualifier has several values, one that fits is enough.
- *Year and date*: the text decides, not the declared type or the suffix of the function: ``/`` or an inner ``-``
  makes a date, everything else is a year. ``=`` means "is in": 1960-02-01 is in 1960, but 1960 is not in 1960-02-01.
  ``<`` and ``>`` between the two compare years.
- *Units*: quantities compare only within one unit, even by ``!=``; a number without a unit compares with those that
  have none. SelectBetween and SelectAmong compare in the most frequent unit of the values, among equally frequent ones
  in the one that comes first. Nothing is converted. Values of other types are ignored, and without any quantity the
  step fails.
- *Ties*: SelectBetween takes the first for "less" and the last for "greater"; SelectAmong gives all names, each once.
- *Type of a key*: QueryAttrUnderCondition and QueryAttrQualifier do not give the type of their value; it is the type
  of the last value that the file has under that key (attribute or qualifier), a year counting as a date.
- *Printed numbers*: a quantity whose fraction is below 0.00001 is printed as a whole number. KoPL tests the difference
  to the truncated number, so that a negative one always loses its fraction: -3.5 is printed as ``-3``.
- *One-sided relations*: Relate follows a relation from an entity only if the file states it there; a concept gets the
  other end of the relations that entities have with it. QueryRelation* read the left node's forward relations.
- *Dependencies*: those that the program states. KoPL's ``forward`` infers them from the order of the steps, with the
  same result on programs written branch by branch.
- *Loading*: KoPL puts a key's values into a set and therefore fails to load a knowledge base in which two of them print
  alike but have types that do not compare (the text ``1960`` and the year); ours loads it.
- *Failures*: where KoPL raises a ``KeyError``, ``IndexError``, ``ValueError`` or ``AssertionError``, we raise a
  `ProgramError` that names the step. By default this includes a name that is not in the knowledge base, for which KoPL
  finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter

from bgr.data.kb import steps
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import SUFFIXES, Program, Step, unknown_name_error
from bgr.data.kb.provenance import trace
from bgr.data.kb.schema import Answer, Fact, Nodes
from bgr.errors import DataError, ProgramError
from bgr.graph.evidence_graph import Edge


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of one program.

    Args:
        answer: the answer as KoPL prints it: one text, or a list of texts.
        facts: the facts that support the answer, after backward slicing, in order of first grounding, without repeats.
        edges: sorted ``(a, b)`` pairs: fact ``b`` was found from an entity that fact ``a`` led to; ``ROOT`` is the
            question. They have a cycle if the program walks in one: `EvidenceGraph` refuses those.
    """

    answer: str | list[str]
    facts: tuple[Fact, ...]
    edges: tuple[Edge, ...]

    @property
    def answers(self) -> list[str]:
        """The distinct texts of the answer, in their order."""
        return [self.answer] if isinstance(self.answer, str) else list(dict.fromkeys(self.answer))


class Executor:
    """Runs programs over one knowledge base.

    With `strict`, a name, concept, relation or key that is not in the knowledge base raises a `ProgramError`; without
    it, such a name finds nothing, as in KoPL.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    def answer(self, program: Program, *, strict: bool = True) -> str | list[str]:
        """KoPL's answer, without provenance; ProgramError names the step that cannot be executed."""
        if strict:
            self.check_names(program)
        if program.compiled is None:
            return self.results(program)[-1].text  # type: ignore[union-attr]
        kb, found = self.kb, None
        try:
            for run, given in program.compiled:
                found = run(kb, found, given)
        except DataError:
            self.results(program)  # fails at the same step, with an error that names it
            raise
        return found  # type: ignore[return-value]

    def run(self, program: Program, *, strict: bool = True, max_facts: int | None = None) -> Execution:
        """The answer with its facts and the edges between them (provenance, sliced backward from the answer).

        Raises:
            TooManyFactsError: more than `max_facts` statements support the answer (a `ProgramError`).
            ProgramError: a step cannot be executed; the message names it.
        """
        if strict:
            self.check_names(program)
        results = self.results(program)
        facts, edges = trace(program, results, max_facts)
        last = results[-1]
        assert isinstance(last, Answer)
        return Execution(last.text, facts, edges)

    def check_names(self, program: Program) -> None:
        """Refuse names that are not in the knowledge base.

        Raises:
            ProgramError: names the first such name, its step and the most similar known names.
        """
        for index, step in enumerate(program.steps):
            for role, text in step.named_inputs:
                if role in _NAMES:
                    kind, known = _NAMES[role]
                    if text not in known(self.kb):
                        raise unknown_name_error(program.label(index), kind, text, sorted(known(self.kb)))

    def results(self, program: Program) -> list[Nodes | Answer]:
        kb, run = self.kb, _RUN
        results: list[Nodes | Answer] = []
        try:
            for function, before, arguments in program.plan:
                if len(before) == 1:
                    results.append(run[function](kb, results[before[0]], *arguments))
                elif before:
                    results.append(run[function](kb, results[before[0]], results[before[1]], *arguments))
                else:
                    results.append(run[function](kb, *arguments))
        except DataError as error:
            raise ProgramError(f"{program.label(len(results))}: {error}") from None
        return results


def run_step(kb: KnowledgeBase, step: Step, results: Sequence[Nodes | Answer]) -> Nodes | Answer:
    """The result of one step, given the `results` of the steps before it; DataError if it cannot be executed."""
    return _RUN[step.function](kb, *[results[d] for d in step.dependencies], *step.arguments)


_NAMES: dict[str, tuple[str, Callable[[KnowledgeBase], Collection[str]]]] = {
    "name": ("entity", attrgetter("names")),
    "concept": ("concept", attrgetter("concept_names")),
    "predicate": ("relation", attrgetter("predicates")),
    "key": ("attribute", attrgetter("keys")),
    "qualifier key": ("qualifier", attrgetter("qualifier_keys")),
}
"""For the roles of inputs that are names: the role in messages, and all names that the knowledge base has."""

_RUN: dict[str, Callable[..., Nodes | Answer]] = {
    "FindAll": steps.find_all,
    "Find": steps.find,
    "FilterConcept": steps.filter_concept,
    "Relate": steps.relate,
    "And": steps.intersect,
    "Or": steps.unite,
    "What": steps.what,
    "Count": steps.count,
    "SelectBetween": steps.select_between,
    "SelectAmong": steps.select_among,
    "QueryAttr": steps.query_attribute,
    "QueryAttrUnderCondition": steps.query_attribute_under_condition,
    "QueryRelation": steps.query_relation,
    "QueryAttrQualifier": steps.query_attribute_qualifier,
    "QueryRelationQualifier": steps.query_relation_qualifier,
    **{f"Filter{suffix}": steps.filter_attribute for suffix in SUFFIXES.values()},
    **{f"QFilter{suffix}": steps.filter_qualifier for suffix in SUFFIXES.values()},
    **{f"Verify{suffix}": steps.verify for suffix in SUFFIXES.values()},
}
