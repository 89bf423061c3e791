"""Atlas' questions: KoPL programs drawn from the knowledge base, executed, and worded (KQA Pro's form).

Every question is drawn backward from the data, so that it has an answer; how many there are of each structure and type
is fixed beforehand (`sampler_recipes.SHARES`).
"""

from __future__ import annotations

import random
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.phrasing.book import phrasebook
from bgr.data.atlas.phrasing.phrasing import Phrasing
from bgr.data.atlas.sampler.checks import Checked, Checker
from bgr.data.atlas.sampler.choices import choices_for
from bgr.data.atlas.sampler.drafts import Drafter
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.recipes import RECIPES, SHARES, Cell
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.errors import DataError

PATIENCE = 600
"""A cell for which so many more drafts came to nothing than its questions make up for is given up; its rest goes to the
other cells."""
WORTH = 40
"""So many drafts that came to nothing does a question make up for: where new ones get rarer than that, as they do
towards the end of what a knowledge base can be asked, the cell is given up, and does not go on for hours."""
WORDINGS = 4
"""So often a draft is worded anew when its question is a repetition or gives the answer away."""


def sample_questions(kb: KnowledgeBase, *, count: int, seed: int, progress: bool = True) -> list[dict[str, Any]]:
    """Draw questions over a knowledge base in Atlas' vocabulary.

    Args:
        kb: the knowledge base.
        count: how many questions.
        seed: same seed, same questions.
        progress: show a bar on standard error.

    Returns:
        Records ``{question, program, answer, choices}`` as KQA Pro has them, in random order.

    Raises:
        DataError: the knowledge base is too small or too sparse for so many different questions.
    """
    sampler = _Sampler(kb, count, random.Random(seed))
    with tqdm(total=count, desc="questions", unit="q", disable=not progress) as bar:
        records = sampler.run(bar)
    random.Random(seed + 1).shuffle(records)
    return records


class _Sampler:
    """Fills the cells of `SHARES`, always drawing for one that still lacks questions."""

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
            record = self._word(checked) if checked is not None and self.missing.get(checked.cell, 0) > 0 else None
            if record is None or checked is None:
                self.failures[cell] += 1
                continue
            self.missing[checked.cell] -= 1
            self.failures[checked.cell] = max(0, self.failures[checked.cell] - WORTH)
            records.append(record)
            bar.update()
        return records

    def _next_cell(self) -> Cell:
        open_cells = [c for c, n in self.missing.items() if n > 0 and self.failures[c] < PATIENCE]
        if not open_cells:
            self._give_up_dry_cells()
            open_cells = [c for c, n in self.missing.items() if n > 0]
        return self.rng.choices(open_cells, [self.missing[c] for c in open_cells])[0]

    def _give_up_dry_cells(self) -> None:
        """What the dry cells still lack goes to those that have not run dry."""
        rest = sum(self.missing.values())
        alive = [c for c in self.missing if self.failures[c] < PATIENCE]
        if not alive:
            done = self.count - rest
            raise DataError(
                f"only {done} of {self.count} questions could be drawn: ask for fewer, or give more entities"
            )
        self.missing = dict.fromkeys(self.missing, 0)
        for number in range(rest):
            self.missing[alive[number % len(alive)]] += 1

    def _draft(self, cell: Cell) -> Checked | None:
        recipes = RECIPES[cell]
        recipe = self.rng.choices([r for _, r in recipes], [weight for weight, _ in recipes])[0]
        draft = self.drafter.draw(recipe)
        return self.checker.check(draft) if draft is not None else None

    def _word(self, checked: Checked) -> dict[str, Any] | None:
        for _ in range(WORDINGS):
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
    """Questions for each cell; they add up to `count` (largest remainders)."""
    total = sum(SHARES.values())
    exact = {cell: count * share / total for cell, share in SHARES.items()}
    whole = {cell: int(value) for cell, value in exact.items()}
    by_remainder = sorted(exact, key=lambda cell: whole[cell] - exact[cell])
    for cell in by_remainder[: count - sum(whole.values())]:
        whole[cell] += 1
    return whole
