"""Questions about something that no fact is about: a word is replaced by one that the data never use."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.spelling import SMALL_WORDS

MIN_LETTERS = 4
"""Minimum letters of a word that is replaced, and of one that replaces it."""

ENOUGH = 20
"""Number of words with the same two last letters from which one of them is taken, so that a verb mostly becomes a verb
of the same form."""


class ForeignWords:
    """The whole words of a tokenizer's vocabulary that no text of the data has, without function words."""

    def __init__(self, vocabulary: Iterable[str], texts: Iterable[str]) -> None:
        used = {word for text in texts for word in text.lower().split()}
        used |= {word.strip(".,;:?!()\"'") for word in used}
        self.words = sorted(word for word in vocabulary if _is_content(word) and word not in used)
        self.by_ending: dict[str, list[str]] = {}
        for word in self.words:
            self.by_ending.setdefault(word[-2:], []).append(word)

    def question(self, question: str, draw: random.Random) -> str | None:
        """The question with a foreign word in place of one of its own; ``None`` if it has none to replace.

        Names and numbers are spared, since a question about another name is what distractors are for.
        """
        parts = question.split(" ")
        places = [place for place, word in enumerate(parts) if place and _is_content(word.rstrip("?,."))]
        if not places or not self.words:
            return None
        place = draw.choice(places)
        bare = parts[place].rstrip("?,.")
        alike = self.by_ending.get(bare[-2:], [])
        parts[place] = draw.choice(alike if len(alike) >= ENOUGH else self.words) + parts[place][len(bare) :]
        return " ".join(parts)


def about_something_else(example: Example, questions: Mapping[str, str]) -> Example | None:
    """The example with the foreign question of its own question: nothing among its candidates answers it."""
    question = questions.get(example.question) if example.answerable else None
    return None if question is None else replace(example, question=question, graph=EvidenceGraph(()), missing="all")


def _is_content(word: str) -> bool:
    known = word in ENGLISH_STOP_WORDS or word in SMALL_WORDS
    return len(word) >= MIN_LETTERS and word.isascii() and word.isalpha() and word.islower() and not known
