"""Which words follow each other in questions: what a wording says in a way of its own is often wrong or no English.

The questions of the source are the corpus, so that no model is needed. A wording that is made of their sequences of
words combines them anew, and says nothing that they do not say somewhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.wording import NAME, mask, program_names

LENGTH = 3
"""Words of a sequence. The start and the end of a text count as words."""

_SAME = {
    "movie": "film", "movies": "films", "picture": "film", "pictures": "films", "nation": "country",
    "nations": "countries", "which": "what",
}  # fmt: skip
_NUMBER = re.compile(r"\$?\d(?:[\d,.]*\d)?")
_WORD = re.compile(rf"{NAME}|[\w'-]+|[?,;:%]")


class Attested:
    """Counts in how many questions each sequence of words occurs, without regard to names and numbers.

    Args:
        questions: the corpus.
        least: a sequence is attested if this many questions have it.
    """

    def __init__(self, questions: Iterable[Question], least: int) -> None:
        self.least = least
        self._counts: Counter[tuple[str, ...]] = Counter()
        for question in questions:
            self._counts.update(_sequences(question, question.text))

    def has(self, question: Question, text: str) -> bool:
        """True if all sequences of a wording of the question are attested, or are the question's own."""
        new = _sequences(question, text) - _sequences(question, question.text)
        return all(self._counts[sequence] >= self.least for sequence in new)


def _sequences(question: Question, text: str) -> set[tuple[str, ...]]:
    masked = _NUMBER.sub("0", mask(text, program_names(question.program)))
    words = ["", *(_SAME.get(word, word) for word in _WORD.findall(masked.casefold())), ""]
    return {tuple(words[start : start + LENGTH]) for start in range(len(words) - LENGTH + 1)}
