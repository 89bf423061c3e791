"""Names in a sentence, by their capital letters: what an answer often is, to its last word.

An uncased encoder does not see where a name ends: *A writer of Snake in the Eagle's Shadow* has three places that look
like one. Capital letters mostly tell; which of the ways below is right for a question is learned.

Where they do not tell, a name recurs to its last word (`shared_runs`): *Mauvais sang was directed by Leos Carax* shows
no end of the name; beside *It takes 105 minutes to see Mauvais sang* the longest common run of words is the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from bgr.utils.spelling import SMALL_WORDS

WAYS = 4
"""Ways to find names: words with capital letters side by side; the same with small words between them; also with
punctuation, and with what marks alone tie to a word, as in *Mooz-lum*; and one of these with the mark or the
parenthesis after it, as in *Them!* and *Faust (2011 film)*."""

_TIGHT = re.compile(r"[^\W_]+(?:[-–'’/_.,()*+]+[^\W_]+)*")
_WORD = re.compile(r"[^\W_]+(?:['’][a-z]{1,2}(?![^\W_]))?")
_BESIDE = re.compile(r"\s+|['’.]?-?|\.\s")
_AFTER = re.compile(r"[!?]|\s?\([^()]{1,40}\)")
_PUNCTUATED = re.compile(r"\s*[-–—:,;!?&/.'’()+*]*\s*")

_INSIDE = SMALL_WORDS | {"vs"}

Characters = tuple[int, int]

MAX_WORDS = 16
"""Maximum words and marks of a run that may be a name."""

_TOKEN = re.compile(r"[^\W_]+|[^\w\s]|_")
_CLOSING = frozenset("!?)")
"""Marks that a name may end with."""


def name_spans(text: str) -> dict[Characters, tuple[float, ...]]:
    """The characters of each name, with 1 or 0 for each of the `WAYS`.

    The first word of a sentence may have its capital for its place alone: each name that begins with it counts without
    it as well.
    """
    words, tight = ([(one.start(), one.end(), one.group()) for one in kind.finditer(text)] for kind in (_WORD, _TIGHT))
    ways = (
        _runs(text, words, lambda word, gap: _is_capital(word) and _BESIDE.fullmatch(gap) is not None),
        _runs(text, words, lambda word, gap: _may_be_inside(word) and _BESIDE.fullmatch(gap) is not None),
        _runs(text, tight, lambda word, gap: _may_be_inside(word) and _PUNCTUATED.fullmatch(gap) is not None),
    )
    found: dict[Characters, list[float]] = {}
    for way, spans in enumerate(ways):
        for span in spans:
            found.setdefault(span, [0.0] * WAYS)[way] = 1.0
            if after := _AFTER.match(text, span[1]):
                found.setdefault((span[0], after.end()), [0.0] * WAYS)[-1] = 1.0
    return {span: tuple(row) for span, row in found.items()}


Words = Sequence[tuple[int, int, str]]


def _runs(text: str, words: Words, goes_on: Callable[[str, str], bool]) -> Iterator[Characters]:
    """Runs from a capital to a capital whose words, with what is before them, all pass the test."""
    run: list[tuple[int, int, str]] = []
    for before, word in pairwise([(0, 0, ""), *words]):
        if run and goes_on(word[2], text[before[1] : word[0]]):
            run.append(word)
            continue
        yield from _ends(run, words)
        run = [word] if _is_capital(word[2]) else []
    yield from _ends(run, words)


def _ends(run: list[tuple[int, int, str]], words: Words) -> Iterator[Characters]:
    while run and not _is_capital(run[-1][2]):
        run.pop()
    if run:
        yield run[0][0], run[-1][1]
        later = [word for word in run[1:] if _is_capital(word[2])]
        if run[0] == words[0] and later:
            yield later[0][0], run[-1][1]


def _is_capital(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit()


def _may_be_inside(word: str) -> bool:
    return _is_capital(word) or word in _INSIDE


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
        for one, _ in _common_runs(fact, question):
            found[number][one] = Shared(True, found[number].get(one, Shared(False, False)).fact)
        for other in range(number):
            for one, two in _common_runs(fact, facts[other]):
                for place, run in ((number, one), (other, two)):
                    found[place][run] = Shared(found[place].get(run, Shared(False, False)).question, True)
    return found


def _common_runs(one: Sequence[Word], two: Sequence[Word]) -> list[tuple[Characters, Characters]]:
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
