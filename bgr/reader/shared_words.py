"""Words that two sentences of a question share: a name recurs to its last word, whatever its letters are.

*Mauvais sang was directed by Leos Carax* shows no end of the name; beside *It takes 105 minutes to see Mauvais sang*
the longest common run of words is the name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from bgr.utils.spelling import SMALL_WORDS

MAX_WORDS = 16
"""Maximum words and marks of a run that may be a name."""

_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_CLOSING = frozenset("!?)")
"""Marks that a name may end with."""

Characters = tuple[int, int]


class Word(NamedTuple):
    """A word or a mark: its characters, its small letters, whether it is a word, and whether it has a capital or a
    digit."""

    start: int
    end: int
    text: str
    word: bool
    telling: bool


class Shared(NamedTuple):
    """With whom a run is shared."""

    question: bool
    fact: bool


def words_of(text: str) -> list[Word]:
    """The words and marks of a text."""
    return [
        Word(one.start(), one.end(), one[0].lower(), one[0].isalnum(), one[0].lower() != one[0] or one[0][0].isdigit())
        for one in _TOKEN.finditer(text)
    ]


def shared_runs(question: Sequence[Word], facts: Sequence[Sequence[Word]]) -> list[dict[Characters, Shared]]:
    """For each fact, the runs of words that it shares with the question or another fact, and that go on in neither
    direction there. One of both has a capital or a digit in it."""
    found: list[dict[Characters, Shared]] = [{} for _ in facts]
    for number, fact in enumerate(facts):
        for one, _ in _runs(fact, question):
            found[number][one] = Shared(True, found[number].get(one, Shared(False, False)).fact)
        for other in range(number):
            for one, two in _runs(fact, facts[other]):
                for place, run in ((number, one), (other, two)):
                    found[place][run] = Shared(found[place].get(run, Shared(False, False)).question, True)
    return found


def _runs(one: Sequence[Word], two: Sequence[Word]) -> list[tuple[Characters, Characters]]:
    """The characters of each common run in both."""
    places: dict[str, list[int]] = {}
    for there, word in enumerate(two):
        places.setdefault(word.text, []).append(there)
    found = []
    for here, word in enumerate(one):
        for there in places.get(word.text, ()):
            if here and there and one[here - 1].text == two[there - 1].text:
                continue  # a part of the run before
            size = 1
            while (
                here + size < len(one) and there + size < len(two) and one[here + size].text == two[there + size].text
            ):
                size += 1
            run = _trimmed(list(zip(one[here : here + size], two[there : there + size], strict=True)))
            if 0 < len(run) <= MAX_WORDS and any(word.telling for pair in run for word in pair):
                (first, other_first), (last, other_last) = run[0], run[-1]
                found.append(((first.start, last.end), (other_first.start, other_last.end)))
    return found


def _trimmed(run: Sequence[tuple[Word, Word]]) -> Sequence[tuple[Word, Word]]:
    """Without the marks and the small words around it."""
    begin, end = 0, len(run)
    while begin < end and all(map(_loose, run[begin])):
        begin += 1
    while end > begin and all(map(_loose, run[end - 1])) and run[end - 1][0].text not in _CLOSING:
        end -= 1
    return run[begin:end]


def _loose(word: Word) -> bool:
    return not word.word or (not word.telling and word.text in SMALL_WORDS)
