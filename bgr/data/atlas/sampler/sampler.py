"""Sampling of Atlas' questions: KoPL programs over the knowledge base, executed and verbalized (KQA Pro's form).

Every question is sampled backward from the data, so that it has an answer. The number of questions of each structure
and type is fixed in advance (`recipes.SHARES`).
"""

from __future__ import annotations

import random
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.sampler.checks import CheckedDraft, Checker, choices_for
from bgr.data.atlas.sampler.drafts import Drafter
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.recipes import RECIPES, SHARES, Cell
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.errors import DataError

MAX_FAILURES = 600
"""A cell with this many failed drafts, less `FAILURES_PER_QUESTION` for each of its questions, is closed; its missing
questions are distributed over the other cells."""
FAILURES_PER_QUESTION = 40
"""Failed drafts that a question compensates. If new questions become rarer than that, as they do when a knowledge base
has few left, the cell is closed instead of searching for hours."""
MAX_PHRASINGS = 4
"""Attempts to verbalize a draft whose question is repeated or reveals the answer."""


def sample_questions(kb: KnowledgeBase, *, count: int, seed: int, progress: bool = True) -> list[dict[str, Any]]:
    """Sample questions over a knowledge base in Atlas' vocabulary.

    Args:
        kb: the knowledge base.
        count: number of questions.
        seed: equal seeds give equal questions.
        progress: show a bar on standard error.

    Returns:
        Records ``{question, program, answer, choices}`` as in KQA Pro, in random order.

    Raises:
        DataError: the knowledge base is too small or too sparse for that many distinct questions.
    """
    sampler = _Sampler(kb, count, random.Random(seed))
    with tqdm(total=count, desc="questions", unit="q", disable=not progress) as bar:
        records = sampler.run(bar)
    random.Random(seed + 1).shuffle(records)
    return records


class _Sampler:
    """Fills the cells of `SHARES`, sampling each draft for a cell that still lacks questions."""

    def __init__(self, kb: KnowledgeBase, count: int, rng: random.Random) -> None:
        self.rng = rng
        self.book = phrasebook()
        self.index = AtlasIndex(kb, self.book)
        self.drafter = Drafter(self.index, rng)
        self.checker = Checker(Executor(kb), rng)
        self.phrasing = Phrasing(self.book, rng)
        self.count = count
        self.missing = quotas(count)
        self.failures: dict[Cell, int] = dict.fromkeys(self.missing, 0)

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
            done = self.count - rest
            raise DataError(
                f"only {done} of {self.count} questions could be sampled: ask for fewer, or use more entities"
            )
        self.missing = dict.fromkeys(self.missing, 0)
        for number in range(rest):
            self.missing[alive[number % len(alive)]] += 1

    def _draft(self, cell: Cell) -> CheckedDraft | None:
        recipes = RECIPES[cell]
        recipe = self.rng.choices([r for _, r in recipes], [weight for weight, _ in recipes])[0]
        draft = self.drafter.sample(recipe)
        return self.checker.check(draft) if draft is not None else None

    def _verbalize(self, checked: CheckedDraft) -> dict[str, Any] | None:
        for _ in range(MAX_PHRASINGS):
            question = self.phrasing.question(checked.draft)
            if self.checker.accept(checked, question):
                choices = choices_for(self.index, checked, self.rng)
                return {
                    "question": question,
                    "choices": choices,
                    "program": checked.program,
                    "answer": checked.answer,
                }
        return None


def quotas(count: int) -> dict[Cell, int]:
    """Number of questions for each cell; they add up to `count` (method of the largest remainders)."""
    total = sum(SHARES.values())
    exact = {cell: count * share / total for cell, share in SHARES.items()}
    whole = {cell: int(value) for cell, value in exact.items()}
    by_remainder = sorted(exact, key=lambda cell: whole[cell] - exact[cell])
    for cell in by_remainder[: count - sum(whole.values())]:
        whole[cell] += 1
    return whole
