"""Which drafts become questions: executed, unambiguous, small enough, without a give-away, not a repetition."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from bgr.data.atlas.question_tree import Draft, to_program
from bgr.data.atlas.sampler.recipes import QUESTION_TYPE, Cell
from bgr.data.kb.executor import Executor
from bgr.data.kb.program import Program
from bgr.data.kb.provenance import TooManyFactsError
from bgr.data.kb.schema import Fact
from bgr.errors import GraphError
from bgr.graph.evidence_graph import EvidenceGraph

MAX_FACTS = 24
USUAL_FACTS = 7
LARGE_SHARE = 0.12
"""The share of drafts above `USUAL_FACTS` that is let through."""
HOP_SHARE = {1: 1.0, 2: 1.0, 3: 0.6, 4: 0.4}
"""The share of drafts of that many hops that is let through (deeper: `DEEP_SHARE`); the paper's mean is 2.1."""
DEEP_SHARE = 0.2
MAX_WORDS = 45
"""A longer question is one that nobody would ask."""
MAX_SAME_FACTS = 2
"""So many questions at most may rest on the same set of facts."""


@dataclass(frozen=True)
class Checked:
    """A draft with its program, its one answer and the place that its evidence graph gives it."""

    draft: Draft
    program: list[dict[str, Any]]
    answer: str
    facts: tuple[Fact, ...]
    graph: EvidenceGraph

    @property
    def cell(self) -> Cell:
        return (self.graph.structure, QUESTION_TYPE[self.draft.function])


class Checker:
    """Executes drafts and refuses those that make no good question; remembers what has been asked."""

    def __init__(self, executor: Executor, rng: random.Random) -> None:
        self.executor = executor
        self.rng = rng
        self._questions: set[str] = set()
        self._evidence: Counter[frozenset[Fact]] = Counter()

    def check(self, draft: Draft) -> Checked | None:
        """Execute a draft; ``None`` if it has no single answer, no usable graph, or too many facts."""
        program = to_program(draft)
        try:
            execution = self.executor.run(Program.from_json(program), max_facts=MAX_FACTS)
        except TooManyFactsError:
            return None
        answers = execution.answer if isinstance(execution.answer, list) else [execution.answer]
        if len(set(answers)) != 1 or answers[0] == "not sure" or not self._counted(draft, answers[0]):
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
        return Checked(draft, program, answers[0], execution.facts, graph)

    def accept(self, checked: Checked, question: str) -> bool:
        """Whether the worded question may stand; if so it is remembered."""
        if question in self._questions or len(question.split()) > MAX_WORDS or gives_away(checked, question):
            return False
        self._questions.add(question)
        self._evidence[frozenset(checked.facts)] += 1
        return True

    @staticmethod
    def _counted(draft: Draft, answer: str) -> bool:
        """KoPL counts an entity once for each way that leads to it; the question asks how many entities there are."""
        return draft.function != "Count" or answer == str(len(draft.subject.members))


def gives_away(checked: Checked, question: str) -> bool:
    """Whether the answer stands in the question, where the question does not have to name it."""
    draft = checked.draft
    if draft.function == "Verify" or (checked.answer in draft.names() and draft.function.startswith("Select")):
        return False
    if draft.function == "Count":
        return False
    return re.search(rf"(?<!\w){re.escape(checked.answer)}(?!\w)", question, re.IGNORECASE) is not None
