"""Questions about parts of other questions: programs that are cut, joined, and worded anew.

A question about "the film starring A that was directed by B" has two smaller ones in it: which film that is (the inner
program alone), and the same about the film's name (the inner program replaced by its result). Parts of two questions
make a new one if they lead to the same thing ("which film with A is by B?"), or to two that can be compared. The graphs
of all of these have forms that the whole ones may lack, as the graph of two facts side by side.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Description, Draft, Link, to_program
from bgr.data.atlas.sampler.drafts import MAX_SET, Drafter
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.read_draft import NotUnderstood, read_draft
from bgr.data.atlas.sampler.sampler import MAX_FACTS, MAX_WORDS, CheckedDraft, reveals_answer, single_answer
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph

LEAST_FACTS = 2
"""Questions about a single fact are common enough."""

TRIES = 8
"""Partners that are tried for each join of a question."""

BOTH = 0.75
"""Share of these that ask for what is common to both; most of them fail, since two things rarely have one in common."""


@dataclass(frozen=True)
class PartQuestion:
    """A record ``{question, program, answer, phrasings}``, and the numbers of the one or two programs that it is made
    of."""

    of: tuple[int, ...]
    record: dict[str, Any]


def part_questions(
    kb: KnowledgeBase, programs: Iterable[Program], *, most: int = 2, seed: int = 0
) -> Iterator[PartQuestion]:
    """For each program at most `most` questions about its parts, and as many that join one of them with one of another
    program.

    A program that is not of Atlas' form has none. No record has a program of `programs`, or that of another record.
    """
    programs = list(programs)
    rng = random.Random(f"parts {seed}")
    book = phrasebook()
    index, executor = AtlasIndex(kb, book), Executor(kb)
    words = _Words(executor, Phrasing(book, rng), {program.steps for program in programs})
    drafts: dict[int, Draft] = {}
    for number, program in enumerate(programs):
        try:
            drafts[number] = read_draft(program, index, executor)
        except NotUnderstood:
            continue
    joins = Joins(drafts, Drafter(index, rng))
    for number, draft in drafts.items():
        found = list(cuts(draft, kb))
        rng.shuffle(found)
        yield from words.first(most, (((number,), one) for one in found))
        yield from words.first(most, joins.of(number, TRIES * most))


class _Words:
    """Words new drafts as records; what `known` programs ask is not asked again."""

    def __init__(self, executor: Executor, phrasing: Phrasing, known: set[Any]) -> None:
        self.executor, self.phrasing, self.known = executor, phrasing, known

    def first(self, most: int, drafts: Iterable[tuple[tuple[int, ...], Draft]]) -> Iterator[PartQuestion]:
        """The first `most` of the drafts that can be asked."""
        for of, draft in drafts:
            if not most:
                return
            program = Program.from_json(to_program(draft))
            if program.steps in self.known:
                continue
            self.known.add(program.steps)
            record = _record(draft, program, self.executor, self.phrasing)
            if record is not None:
                most -= 1
                yield PartQuestion(of, record)


def _record(draft: Draft, program: Program, executor: Executor, phrasing: Phrasing) -> dict[str, Any] | None:
    try:
        execution = executor.run(program, max_facts=MAX_FACTS)
        graph = EvidenceGraph(execution.edges)
    except BgrError:
        return None
    answer = single_answer(draft, execution)
    if answer is None or len(execution.facts) < LEAST_FACTS:
        return None
    try:
        question = phrasing.question(draft)
    except KeyError:  # a relation or attribute of another knowledge base, for which Atlas has no words
        return None
    checked = CheckedDraft(draft, program.to_json(), answer, execution.facts, graph)
    if len(question.split()) > MAX_WORDS or reveals_answer(checked, question):
        return None
    return {"question": question, "program": checked.program, "answer": answer, "phrasings": list(phrasing.phrasings)}


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


# -- joining ----------------------------------------------------------------------------------------------------------


class Joins:
    """Drafts made of parts of two drafts: what two links have in common, or which of two things has more of something.

    Args:
        drafts: by number.
    """

    def __init__(self, drafts: dict[int, Draft], drafter: Drafter) -> None:
        self.drafter, self.rng = drafter, drafter.rng
        self.links: dict[int, list[tuple[Link, Description]]] = {}
        self.things: dict[int, list[Description]] = {}
        self.leading_to: dict[str, list[tuple[int, Link]]] = defaultdict(list)
        self.of_kind: dict[str, list[tuple[int, Description]]] = defaultdict(list)
        for number, draft in drafts.items():
            ends = [end for end, _ in _ends(draft)]
            self.links[number] = [found for end in ends for found in self._alone(end)]
            self.things[number] = [found for end in ends for found in _things(end)]
            for link, alone in self.links[number]:
                for node in alone.members:
                    self.leading_to[node].append((number, link))
            for thing in self.things[number]:
                self.of_kind[thing.kind].append((number, thing))

    def of(self, number: int, tries: int) -> Iterator[tuple[tuple[int, int], Draft]]:
        """Drafts of one with random others, at most as many as `tries`."""
        for _ in range(tries):
            found = self._both(number) if self.rng.random() < BOTH else self._compared(number)
            if found is not None:
                yield found

    def _both(self, number: int) -> tuple[tuple[int, int], Draft] | None:
        """A question for the one entity that both a link of the draft and a link of another draft lead to, or for the
        number of such entities."""
        if not self.links[number]:
            return None
        link, alone = self.rng.choice(self.links[number])
        other, second = self.rng.choice(self.leading_to[self.rng.choice(alone.members)])
        if other == number or second.base.members == link.base.members:
            return None
        joined = self.drafter.walker.of_links(alone.kind, (link, second))
        if joined is None or len(joined.members) > MAX_SET:
            return None
        return (number, other), Draft("What" if joined.single else "Count", joined)

    def _compared(self, number: int) -> tuple[tuple[int, int], Draft] | None:
        if not self.things[number]:
            return None
        first = self.rng.choice(self.things[number])
        other, second = self.rng.choice(self.of_kind[first.kind])
        if other == number or second.members == first.members:
            return None
        key = self.drafter.comparable_key((first.members[0], second.members[0]), "more")
        if key is None:
            return None
        operator = self.rng.choice(("greater", "less"))
        return (number, other), Draft("SelectBetween", first, second, key=key, op=operator)

    def _alone(self, description: Description) -> Iterator[tuple[Link, Description]]:
        """Every link of a description and of what it begins with, each with what the link alone describes; none of the
        relations of another knowledge base, for which Atlas has no words."""
        for link in description.links:
            if link.direction in self.drafter.index.book.relations.get(link.predicate, {}):
                alone = self.drafter.walker.of_links(description.kind, (link,))
                if alone is not None:
                    yield link, alone
            yield from self._alone(link.base)


def _things(description: Description) -> Iterator[Description]:
    """The parts of a description that are one entity."""
    if description.single and not description.options:
        yield description
    for link in description.links:
        yield from _things(link.base)
