"""Counts under a condition that the words of question and facts settle: *How many of the towers are over 90 metres
high?*, *How many of Oake's boxes have more than ten levers?*

As in `bgr.reader.comparisons`, nothing is learned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bgr.reader.amounts import Amount, amounts, bounds, compared, is_within, same_dimension
from bgr.reader.comparisons import Comparison, before_date
from bgr.reader.question_words import asks_yes_or_no, comparison
from bgr.utils.quantities import spelled_as_digits

_COUNTS = re.compile(r"\bhow many\b|^\W*count\b|\bnumber of\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_STEM = 4
"""Letters by which *lever* and *levers* are the same word."""


def count_stated(question: str, facts: Sequence[str]) -> Comparison | None:
    """How many facts state an amount as the question wants it, with those that do.

    ``None`` unless the question counts, sets one bound after that or two, and at least two facts state one amount each
    of the same kind: with a unit of the same dimension, as a date, or before the same word. A fact with two of them, or
    with a number of which it is not said what it is, leaves it open; so do equal dates, which may be of one thing.
    """
    counts = _COUNTS.search(question)
    if counts is None or asks_yes_or_no(question):
        return None
    question = spelled_as_digits(question)
    found = [one for one in amounts(question) if one.start > counts.end()]
    ends = next((both for one in found if (both := bounds(question, one)) is not None), None)
    asked = ends[1:] if ends else [one for one in found if _operator(question, one) not in (None, "=", "!=")]
    if len(asked) != 1:
        return None
    [place] = asked
    first = ends[0] if ends else place
    dated = not place.unit and place.is_time and before_date(question[: first.start])
    named = not place.unit and not dated  # by the next word: 15 levers
    stated: dict[int, Amount] = {}
    for number, fact in enumerate(facts):
        fact = spelled_as_digits(fact) if named else fact
        there = amounts(fact)
        alike = [one for one in there if _is_alike(one, fact, place, question, dated)]
        if len(alike) > 1 or (named and _unexplained(there, alike)):
            return None
        if alike:
            stated[number] = alike[0]
    if len(stated) < 2 or (dated and len({one.size for one in stated.values()}) < len(stated)):
        return None
    said = _operator(question, place) or ""
    fits = {
        number: one
        for number, one in stated.items()
        if (is_within(ends, one) if ends else (compared(one, place) or "no") in said)
    }
    return Comparison(str(len(fits)), tuple(fits), tuple(fits.values())) if fits else None


def _operator(question: str, place: Amount) -> str | None:
    return comparison(question, (place.start, place.end))


def _is_alike(one: Amount, fact: str, place: Amount, question: str, dated: bool) -> bool:
    if place.unit:
        return same_dimension(one, place)
    if dated:
        return one.is_time
    return not one.unit and bool(_next_stems(question, place.end, 1) & _next_stems(fact, one.end, 2))


def _unexplained(there: Sequence[Amount], alike: Sequence[Amount]) -> bool:
    """Whether a number of a fact might be the one that is meant: *the count of levers stands at 17*."""
    return not alike and any(not one.unit and not one.is_time for one in there)


def _next_stems(text: str, end: int, count: int) -> set[str]:
    words = _WORD.findall(text[end : end + 60])[:count]
    return {word.lower()[:_STEM] for word in words}
