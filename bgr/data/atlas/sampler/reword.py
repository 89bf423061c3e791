"""The same question in other words: a program is read back into its draft, which is worded anew."""

from __future__ import annotations

import random
from collections.abc import Collection

from bgr.data.atlas.phrasing.phrasebook import phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.read_draft import NotUnderstood, read_draft
from bgr.data.atlas.sampler.sampler import MAX_WORDS
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program

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
