"""Names in a sentence, by their capital letters: what an answer often is, to its last word.

An uncased encoder does not see where a name ends: *A writer of Snake in the Eagle's Shadow* has three places that look
like one. Capital letters mostly tell; which of the ways below is right for a question is learned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

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
