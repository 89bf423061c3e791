"""Sampling of Atlas' questions: KoPL programs over the knowledge base, executed and verbalized (KQA Pro's form).

Every question is sampled backward from the data, so that it has an answer. The number of questions of each structure
and type is fixed in advance (`recipes.SHARES`). Drafts become questions if they are unambiguous, small and not
repeated, and do not reveal their answer.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Draft, to_program
from bgr.data.atlas.sampler.drafts import Drafter
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.recipes import QUESTION_TYPE, RECIPES, SHARES, Cell
from bgr.data.kb.executor import Execution, Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Fact
from bgr.errors import DataError, GraphError
from bgr.graph.evidence_graph import EvidenceGraph

MAX_FAILURES = 600
"""A cell with this many failed drafts, less `FAILURES_PER_QUESTION` for each of its questions, is closed; its missing
questions are distributed over the other cells."""
FAILURES_PER_QUESTION = 40
"""Failed drafts that a question compensates. If new questions become rarer than that, as they do when a knowledge base
has few left, the cell is closed instead of searching for hours."""
MAX_PHRASINGS = 4
"""Attempts to verbalize a draft whose question is repeated or reveals the answer."""

MAX_FACTS = 24
USUAL_FACTS = 7
LARGE_SHARE = 0.12
"""Share of the drafts with more than `USUAL_FACTS` facts that is accepted."""
HOP_SHARE = {1: 1.0, 2: 1.0, 3: 0.6, 4: 0.4}
"""Share of the drafts with that many hops that is accepted (more hops: `DEEP_SHARE`); the paper's mean is 2.1."""
DEEP_SHARE = 0.2
MAX_WORDS = 45
"""Longer questions are not natural."""
MAX_SAME_FACTS = 2
"""Maximum number of questions with the same set of facts."""
CHOICES = 10
PADDING = "unknown"


def sample_questions(
    kb: KnowledgeBase, *, count: int, seed: int, even: bool = False, progress: bool = True
) -> list[dict[str, Any]]:
    """Sample records ``{question, program, answer, choices}`` as in KQA Pro, in random order.

    Beside these, ``phrasings`` has the templates of each question (`Phrasing.phrasings`).

    Args:
        even: sample kinds, relations and attributes equally often (`Drafter`).

    Raises:
        DataError: the knowledge base is too small or too sparse for that many distinct questions.
    """
    sampler = _Sampler(kb, count, random.Random(seed), even=even)
    with tqdm(total=count, desc="questions", unit="q", disable=not progress) as bar:
        records = sampler.run(bar)
    random.Random(seed + 1).shuffle(records)
    return records


@dataclass(frozen=True)
class CheckedDraft:
    """An executed draft: its program, its only answer, its facts and its evidence graph."""

    draft: Draft
    program: list[dict[str, Any]]
    answer: str
    facts: tuple[Fact, ...]
    graph: EvidenceGraph

    @property
    def cell(self) -> Cell:
        return (self.graph.structure, QUESTION_TYPE[self.draft.function])


class _Sampler:
    """Fills the cells of `SHARES`, sampling each draft for a cell that still lacks questions."""

    def __init__(self, kb: KnowledgeBase, count: int, rng: random.Random, *, even: bool) -> None:
        self.rng = rng
        self.book = phrasebook()
        self.index = AtlasIndex(kb, self.book)
        self.drafter = Drafter(self.index, rng, even=even)
        self.executor = Executor(kb)
        self.phrasing = Phrasing(self.book, rng)
        self.count = count
        self.missing = quotas(count)
        self.failures: dict[Cell, int] = dict.fromkeys(self.missing, 0)
        self._questions: set[str] = set()
        self._evidence: Counter[frozenset[Fact]] = Counter()

    def run(self, bar: tqdm) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        while len(records) < self.count:
            cell = self._next_cell()
            checked = self._draft(cell)
            record = self._verbalize(checked) if checked is not None and self.missing.get(checked.cell, 0) > 0 else None
            if record is None or checked is None:
                self.failures[cell] += 1
                continue
            self.missing[checked.cell] -= 1
            self.failures[checked.cell] = max(0, self.failures[checked.cell] - FAILURES_PER_QUESTION)
            records.append(record)
            bar.update()
        return records

    def _next_cell(self) -> Cell:
        open_cells = [c for c, n in self.missing.items() if n > 0 and self.failures[c] < MAX_FAILURES]
        if not open_cells:
            self._close_cells()
            open_cells = [c for c, n in self.missing.items() if n > 0]
        return self.rng.choices(open_cells, [self.missing[c] for c in open_cells])[0]

    def _close_cells(self) -> None:
        """Distribute the missing questions of cells with too many failures over the others."""
        rest = sum(self.missing.values())
        alive = [c for c in self.missing if self.failures[c] < MAX_FAILURES]
        if not alive:
            done = f"only {self.count - rest} of {self.count} questions could be sampled"
            raise DataError(f"{done}: ask for fewer, or use more entities")
        self.missing = dict.fromkeys(self.missing, 0)
        for number in range(rest):
            self.missing[alive[number % len(alive)]] += 1

    def _draft(self, cell: Cell) -> CheckedDraft | None:
        recipes = RECIPES[cell]
        recipe = self.rng.choices([r for _, r in recipes], [weight for weight, _ in recipes])[0]
        draft = self.drafter.sample(recipe)
        return self._check(draft) if draft is not None else None

    def _verbalize(self, checked: CheckedDraft) -> dict[str, Any] | None:
        for _ in range(MAX_PHRASINGS):
            question = self.phrasing.question(checked.draft)
            if self._accept(checked, question):
                return {
                    "question": question,
                    "choices": choices_for(self.index, checked, self.rng),
                    "program": checked.program,
                    "answer": checked.answer,
                    "phrasings": list(self.phrasing.phrasings),
                }
        return None

    def _check(self, draft: Draft) -> CheckedDraft | None:
        """Execute a draft; ``None`` if it has no single answer, no usable graph, or too many facts."""
        program = to_program(draft)
        try:
            execution = self.executor.run(Program.from_json(program), max_facts=MAX_FACTS)
        except TooManyFactsError:
            return None
        answer = single_answer(draft, execution)
        if answer is None:
            return None
        if not execution.facts or len(execution.facts) > MAX_FACTS:  # one statement may give several facts
            return None
        if len(execution.facts) > USUAL_FACTS and self.rng.random() > LARGE_SHARE:
            return None
        if self._evidence[frozenset(execution.facts)] >= MAX_SAME_FACTS:
            return None
        try:
            graph = EvidenceGraph(execution.edges)
        except GraphError:
            return None
        if self.rng.random() > HOP_SHARE.get(graph.hops, DEEP_SHARE):
            return None
        return CheckedDraft(draft, program, answer, execution.facts, graph)

    def _accept(self, checked: CheckedDraft, question: str) -> bool:
        """True, and the question is remembered, if the verbalized question is acceptable."""
        if question in self._questions or len(question.split()) > MAX_WORDS or reveals_answer(checked, question):
            return False
        self._questions.add(question)
        self._evidence[frozenset(checked.facts)] += 1
        return True


def quotas(count: int) -> dict[Cell, int]:
    """Number of questions for each cell; they add up to `count` (method of the largest remainders)."""
    total = sum(SHARES.values())
    exact = {cell: count * share / total for cell, share in SHARES.items()}
    whole = {cell: int(value) for cell, value in exact.items()}
    by_remainder = sorted(exact, key=lambda cell: whole[cell] - exact[cell])
    for cell in by_remainder[: count - sum(whole.values())]:
        whole[cell] += 1
    return whole


def single_answer(draft: Draft, execution: Execution) -> str | None:
    """The only answer of a draft; ``None`` if there is none or several, or if people would count otherwise."""
    answers = execution.answers
    if len(answers) != 1 or answers[0] == "not sure":
        return None
    if draft.function == "Count" and answers[0] != str(len(draft.subject.members)):
        return None  # KoPL counts an entity once for each statement that leads to it
    return answers[0]


def reveals_answer(checked: CheckedDraft, question: str) -> bool:
    """True if the question contains the answer and does not have to."""
    draft = checked.draft
    if draft.function in ("Verify", "Count"):
        return False
    if draft.function.startswith("Select") and checked.answer in draft.names():
        return False
    return re.search(rf"(?<!\w){re.escape(checked.answer)}(?!\w)", question, re.IGNORECASE) is not None


def choices_for(index: AtlasIndex, checked: CheckedDraft, rng: random.Random) -> list[str]:
    """Ten choices as in KQA Pro: texts of the same kind with the answer among them, in random order.

    For a boolean question, yes and no come first.
    """
    draft, answer = checked.draft, checked.answer
    if draft.function == "Verify":
        return ["yes", "no", *[PADDING] * (CHOICES - 2)]
    others = dict.fromkeys(text for text in _pool(index, draft, answer, rng) if text != answer)
    found = list(others)[: CHOICES - 1]
    found.append(answer)
    rng.shuffle(found)
    return found + [PADDING] * (CHOICES - len(found))


def _pool(index: AtlasIndex, draft: Draft, answer: str, rng: random.Random) -> list[str]:
    if draft.function == "Count":
        numbers = [n for n in range(max(0, int(answer) - 9), int(answer) + 10) if n != int(answer)]
        return [str(n) for n in rng.sample(numbers, CHOICES - 1)]
    if draft.function == "QueryRelation":
        return rng.sample(sorted(index.kb.predicates), len(index.kb.predicates))
    if draft.function in ("QueryAttr", "QueryAttrUnderCondition"):
        assert draft.value is not None
        texts = [str(value) for value in index.pool(draft.key, draft.value.unit)]
        return rng.sample(texts, min(len(texts), 2 * CHOICES))
    if draft.qualifier is not None:  # values of the same qualifier key, then those of other keys
        key = draft.qualifier[0]
        own = index.qualifier_values(key)
        others = [v for k in sorted(index.kb.qualifier_keys) if k != key for v in index.qualifier_values(k)]
        others = [v for v in others if v.isdigit() == (bool(own) and own[0].isdigit())]
        return rng.sample(own, len(own)) + rng.sample(others, len(others))
    entities = index.entities[draft.subject.kind]
    sample = [index.kb.name(node) for node in rng.sample(entities, min(len(entities), 2 * CHOICES))]
    rivals = [*draft.subject.options, *draft.names()] if draft.function.startswith("Select") else []
    members = [index.kb.name(node) for node in draft.subject.members] if draft.function == "SelectAmong" else []
    between = [index.kb.name(draft.other.members[0])] if draft.function == "SelectBetween" and draft.other else []
    named = [name for name in rivals if name in members]
    return [*named, *members, *between, *([index.kb.name(draft.subject.members[0])] if between else []), *sample]
