"""Executes KoPL programs: KoPL's answer, and on request the facts it rests on and how one led to another.

Where KoPL's documentation leaves a question open, the package ``kopl`` 0.0.5 decides, and we answer as it does. Where
it leaves the order of a list, or the choice between equals, to a hash table, ours is the order of first appearance, the
left branch before the right; ``bgr bench kopl`` compares lists without their order and counts such choices as tied
(``--random --programs 50000`` for all functions). The open questions and their answers, each with its test in
``tests/bgr/kb/test_kopl_questions.py``:

- *Ambiguous names*: Find gives every entity and concept of that name, and each later step works on all of them;
  FilterConcept keeps the members of every concept of that name. FindAll gives the concepts too, and the concepts
  below a concept are among its members. Whitespace in names is normalised.
- *Several values of a key*: Filter* and QFilter* keep a node once for each statement that fits, Relate gives an end
  once for each relation; What and Count repeat it as often, while And, Or, FilterConcept and the input of Filter*,
  Relate and SelectAmong are sets. ``!=`` asks for a statement with another value: without the key nothing passes.
  QueryAttr gives all values; Verify* says "yes" if all fit, "no" if none does or there is none, else "not sure". Of
  several values of one qualifier one that fits is enough.
- *Year and date*: the text decides, not the declared type nor the suffix of the function: ``/`` or an inner ``-``
  makes a date, all else is a year. ``=`` means "lies in": 1960-02-01 lies in 1960, but 1960 not in 1960-02-01. ``<``
  and ``>`` between the two compare years.
- *Units*: quantities compare within one unit only, even by ``!=``; a number without a unit compares with those that
  have none. SelectBetween and SelectAmong compare in the unit that most of the values have, of equally common ones
  the first met. Nothing is converted. Values of other types are passed over, and without any quantity the step is
  refused.
- *Ties*: SelectBetween takes the first for "less" and the last for "greater"; SelectAmong gives all names, each once.
- *Type of a key*: QueryAttrUnderCondition and QueryAttrQualifier do not say how their value is to be read; the type
  of the last value that the file has under that key (attribute or qualifier) decides, a year counting as a date.
- *Printed numbers*: a quantity whose fraction is below 0.00001 is printed whole. KoPL tests the difference to the
  number cut off at the point, so that a negative one always loses its fraction: -3.5 is printed as ``-3``.
- *One-sided relations*: Relate follows a relation from an entity only if the file states it there; a concept gets the
  other end of what entities state of it. QueryRelation* read what the left node states as forward.
- *Dependencies*: those that the program states. KoPL's ``forward`` guesses them from the order of the steps, with one
  result on programs written branch by branch.
- *Loading*: KoPL puts a key's values into a set and so cannot load a base in which two of them print alike but are of
  types that do not compare (the text ``1960`` and the year); ours loads it.
- *Failures*: where KoPL ends in a ``KeyError``, ``IndexError``, ``ValueError`` or ``AssertionError``, a
  `ProgramError` names the step. By default a name that the base does not hold is refused as well; KoPL then finds
  nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bgr.data.kb import answer_steps, node_steps
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program, Step, unknown
from bgr.data.kb.provenance import trace
from bgr.data.kb.results import Answer, Nodes
from bgr.data.kb.schema import Fact
from bgr.errors import DataError, ProgramError
from bgr.graph.evidence_graph import Edge


@dataclass(frozen=True, slots=True)
class Execution:
    """The outcome of one program.

    Args:
        answer: as KoPL prints it: one text, or a list of texts.
        facts: what the answer rests on, after backward slicing, in order of first grounding; no two are equal.
        edges: sorted ``(a, b)`` pairs: fact ``b`` was found from an entity that fact ``a`` led to; ``ROOT`` for the
            question. They may form a cycle if the program walks in one: `EvidenceGraph` refuses those.
    """

    answer: str | list[str]
    facts: tuple[Fact, ...]
    edges: tuple[Edge, ...]


class Executor:
    """Runs programs over one knowledge base.

    With `strict` a name, concept, relation or key that the base does not hold raises a `ProgramError`; without it such
    a name finds nothing, as in KoPL.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb

    def answer(self, program: Program, *, strict: bool = True) -> str | list[str]:
        """KoPL's answer, without provenance.

        Raises:
            ProgramError: a step cannot be executed; the message names it.
        """
        if strict:
            self.check_names(program)
        if program.lean is None:
            return self._results(program)[-1].text  # type: ignore[union-attr]
        kb, found = self.kb, None
        try:
            for run, given in program.lean:
                found = run(kb, found, given)
        except DataError:
            self._results(program)  # fails at the same step, and names it
            raise
        return found  # type: ignore[return-value]

    def run(self, program: Program, *, strict: bool = True, max_facts: int | None = None) -> Execution:
        """The answer with its facts and the edges between them (provenance, sliced backward from the answer).

        Raises:
            TooManyFactsError: the answer rests on more than `max_facts` statements (a `ProgramError`).
            ProgramError: a step cannot be executed; the message names it.
        """
        if strict:
            self.check_names(program)
        results = self._results(program)
        facts, edges = trace(program, results, max_facts)
        last = results[-1]
        assert isinstance(last, Answer)
        return Execution(last.text, facts, edges)

    def check_names(self, program: Program) -> None:
        """Refuse names that the knowledge base does not hold.

        Raises:
            ProgramError: the first such name, with its step and the nearest known names.
        """
        for index, step in enumerate(program.steps):
            for role, text in zip(step.signature.inputs, step.inputs, strict=True):
                if role in _NAMES and not _NAMES[role].holds(self.kb, text):
                    names = sorted(_NAMES[role].all(self.kb))
                    raise unknown(program.label(index), _NAMES[role].what, text, names)

    def _results(self, program: Program) -> list[Nodes | Answer]:
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


def apply(kb: KnowledgeBase, step: Step, results: Sequence[Nodes | Answer]) -> Nodes | Answer:
    """What one step gives after those before it gave `results`.

    Raises:
        DataError: the step cannot be executed.
    """
    return _RUN[step.function](kb, *[results[d] for d in step.dependencies], *step.arguments)


def _is_concept_name(kb: KnowledgeBase, name: str) -> bool:
    return any(kb.is_concept(i) for i in kb.ids(name))


class _Names(NamedTuple):
    """What messages call the names of one role, whether the base holds one, and all it holds."""

    what: str
    holds: Callable[[KnowledgeBase, str], bool]
    all: Callable[[KnowledgeBase], Iterable[str]]


_NAMES = {
    "name": _Names("entity", lambda kb, text: bool(kb.ids(text)), lambda kb: kb.names),
    "concept": _Names("concept", _is_concept_name, lambda kb: {kb.name(i) for i in kb.concepts}),
    "predicate": _Names("relation", lambda kb, text: text in kb.predicates, lambda kb: kb.predicates),
    "key": _Names("attribute", lambda kb, text: text in kb.keys, lambda kb: kb.keys),
    "qualifier key": _Names("qualifier", lambda kb, text: text in kb.qualifier_keys, lambda kb: kb.qualifier_keys),
}

_RUN: dict[str, Callable[..., Nodes | Answer]] = {
    "FindAll": node_steps.find_all,
    "Find": node_steps.find,
    "FilterConcept": node_steps.filter_concept,
    "FilterStr": node_steps.filter_attribute,
    "FilterNum": node_steps.filter_attribute,
    "FilterYear": node_steps.filter_attribute,
    "FilterDate": node_steps.filter_attribute,
    "QFilterStr": node_steps.filter_qualifier,
    "QFilterNum": node_steps.filter_qualifier,
    "QFilterYear": node_steps.filter_qualifier,
    "QFilterDate": node_steps.filter_qualifier,
    "Relate": node_steps.relate,
    "And": node_steps.intersect,
    "Or": node_steps.unite,
    "What": answer_steps.what,
    "Count": answer_steps.count,
    "SelectBetween": answer_steps.select_between,
    "SelectAmong": answer_steps.select_among,
    "QueryAttr": answer_steps.query_attribute,
    "QueryAttrUnderCondition": answer_steps.query_attribute_under_condition,
    "VerifyStr": answer_steps.verify,
    "VerifyNum": answer_steps.verify,
    "VerifyYear": answer_steps.verify,
    "VerifyDate": answer_steps.verify,
    "QueryRelation": answer_steps.query_relation,
    "QueryAttrQualifier": answer_steps.query_attribute_qualifier,
    "QueryRelationQualifier": answer_steps.query_relation_qualifier,
}
