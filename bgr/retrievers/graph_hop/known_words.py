"""The words of the training questions, by which typing mistakes are corrected, and a question is seen to be unlike
them: in another language, or about something else. Words of the candidates count as known, since names come from
there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import new_file
from bgr.utils.checksums import check_file
from bgr.utils.spelling import one_mistake_before

FILE = "words.txt"

FEWEST_QUESTIONS = 3
"""A word of fewer training questions is not known: it is a name."""

MAX_SHARE = 0.3
"""A question is strange if more of its words are unknown."""

FEWEST_UNKNOWN = 2
"""... and at least as many of them, or all."""

MAX_NAMED = 5

MAX_MISTAKES = 0.5
"""A question is not corrected if a larger share of its words, and more than one, is unknown."""

MAX_WORDS = 64
"""Maximum number of different words of a question, the first ones, that are corrected and searched one by one. The
models read 64 tokens of a question, and a word may take 25 ms: without a limit, a question of 100,000 characters takes
minutes."""

SHORTEST = 3
"""Words of fewer letters are not corrected, and no word is corrected to one."""

LONGEST = 30
"""Words of more letters are not corrected: what may have been meant grows with the square of their length."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without numbers, in order."""
    return re.findall(r"[^\W\d_]+", text.lower())


_SMALL_WORD = re.compile(rf"(?<![\w'’-])[a-z]{{{SHORTEST},{LONGEST}}}(?![\w'’-])")


class KnownWords:
    """The words of training questions.

    Args:
        counts: in how many questions each word is.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = Counter(counts)

    @classmethod
    def learn(cls, questions: Iterable[str]) -> Self:
        """The words that at least `FEWEST_QUESTIONS` of the questions have."""
        counts = Counter(word for question in questions for word in set(words_of(question)))
        return cls({word: count for word, count in counts.items() if count >= FEWEST_QUESTIONS})

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
            lines = path.read_text(encoding="utf-8").splitlines()
            # words without a number were written by an earlier version
            counts = {word: int(count or 1) for word, _, count in (line.partition(" ") for line in lines)}
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path}: cannot be read: {error}") from None
        check_file(path)
        return cls(counts)

    def save(self, folder: Path) -> None:
        with new_file(folder / FILE) as part:
            lines = (f"{word} {count}\n" for word, count in sorted(self.counts.items()))
            part.write_text("".join(lines), encoding="utf-8")

    def __add__(self, other: KnownWords) -> KnownWords:
        """The words of both, with the sum of their counts."""
        return KnownWords(self.counts + other.counts)

    def corrected(
        self, question: str, told: Callable[[str], int], vocabulary: Container[str] = ()
    ) -> tuple[str, tuple[str, ...]]:
        """The question with the typing mistakes in small letters corrected, and what was changed.

        A word that is neither known nor told, nor in the vocabulary, is taken for the known one from which it most
        probably comes by a single mistake, by their frequency and the kind of mistake; else for one that is told. A
        question most of whose words are unknown is left as it is. Only the first `MAX_WORDS` different words count.

        Args:
            told: number of texts that have a word, which is in lower case.
            vocabulary: other words of the language, such as those of a tokenizer.
        """
        words = list(dict.fromkeys(words_of(question)))[:MAX_WORDS]
        unknown = {word for word in words if not (self.counts[word] or word in vocabulary or told(word))}
        if len(unknown) > max(1, len(words) * MAX_MISTAKES):
            return question, ()
        small = (word for word in dict.fromkeys(_SMALL_WORD.findall(question)) if word in unknown)
        changes = {word: meant for word in small if (meant := self._meant(word, told)) is not None}
        text = _SMALL_WORD.sub(lambda match: changes.get(match[0], match[0]), question)
        return text, tuple(f"“{word}” is read as “{meant}”" for word, meant in changes.items())

    def _meant(self, word: str, told: Callable[[str], int]) -> str | None:
        near = {one: chance for one, chance in sorted(one_mistake_before(word).items()) if len(one) >= SHORTEST}
        for count in (self.counts.__getitem__, told):
            found = {one: chance * number for one, chance in near.items() if (number := count(one))}
            if found:
                return max(found, key=found.__getitem__)
        return None

    def warnings(self, question: str, facts: Sequence[str]) -> tuple[str, ...]:
        """Why the question may not be understood; empty for one like those of the training."""
        words = dict.fromkeys(words_of(question))
        unknown = [word for word in words if not self.counts[word]]
        if unknown:
            told = {word for fact in facts for word in words_of(fact)}
            unknown = [word for word in unknown if word not in told]
        if words and len(unknown) == len(words):
            return ("none of the question's words is known: the model was trained on English questions",)
        if len(unknown) < FEWEST_UNKNOWN or len(unknown) <= MAX_SHARE * len(words):
            return ()
        named = ", ".join(unknown[:MAX_NAMED]) + (", …" if len(unknown) > MAX_NAMED else "")
        return (f"{len(unknown)} of {len(words)} words are neither in training questions nor in the facts: {named}",)
