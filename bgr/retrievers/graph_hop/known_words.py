"""The words of the training questions, by which a question is seen to be unlike them: in another language, or about
something else. Words of the candidates count as known, since names come from there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import new_file
from bgr.utils.checksums import check_file

FILE = "words.txt"

FEWEST_QUESTIONS = 3
"""A word of fewer training questions is not known: it is a name."""

MAX_SHARE = 0.3
"""A question is strange if more of its words are unknown."""

FEWEST_UNKNOWN = 2
"""... and at least as many of them, or all."""

MAX_NAMED = 5


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without numbers, in order."""
    return re.findall(r"[^\W\d_]+", text.lower())


class KnownWords:
    """The words of training questions."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)

    @classmethod
    def learn(cls, questions: Iterable[str]) -> Self:
        """The words that at least `FEWEST_QUESTIONS` of the questions have."""
        counts = Counter(word for question in questions for word in set(words_of(question)))
        return cls(word for word, count in counts.items() if count >= FEWEST_QUESTIONS)

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """Those of a checkpoint; ``None`` if it has none.

        Raises:
            CheckpointError: the file cannot be read, or is not as it was written.
        """
        path = folder / FILE
        if not path.exists():
            return None
        try:
            if not path.is_file():
                raise CheckpointError(f"{path}: not a regular file")
            words = path.read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{path}: cannot be read: {error}") from None
        check_file(path)
        return cls(words)

    def save(self, folder: Path) -> None:
        with new_file(folder / FILE) as part:
            part.write_text("\n".join(sorted(self.words)) + "\n", encoding="utf-8")

    def warnings(self, question: str, facts: Sequence[str]) -> tuple[str, ...]:
        """Why the question may not be understood; empty for one like those of the training."""
        words = dict.fromkeys(words_of(question))
        unknown = [word for word in words if word not in self.words]
        if unknown:
            told = {word for fact in facts for word in words_of(fact)}
            unknown = [word for word in unknown if word not in told]
        if words and len(unknown) == len(words):
            return ("none of the question's words is known: the model was trained on English questions",)
        if len(unknown) < FEWEST_UNKNOWN or len(unknown) <= MAX_SHARE * len(words):
            return ()
        named = ", ".join(unknown[:MAX_NAMED]) + (", …" if len(unknown) > MAX_NAMED else "")
        return (f"{len(unknown)} of {len(words)} words are neither in training questions nor in the facts: {named}",)
