"""What kind of amount a question asks for: who asks *how tall* is not told a weight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from bgr.reader.amounts import MONEY, YEARS, Amount, amounts, dimension
from bgr.utils.quantities import measures

DATE = "date"
_OR_THAN = re.compile(r"\b(?:or|than)\b")
_WEIGHT = {"mass", "mass of a molecule", "molar mass"}
_HIGH = {"length", "temperature", "share", "density", "speed", "voltage", "frequency", "loudness", *MONEY, *_WEIGHT}
_STEMS: dict[str, set[str]] = {
    "heav heavi light": {"density", *_WEIGHT},
    "tall deep wid narrow shallow thick thin far farth furth": {"length"},
    "high low": _HIGH,
    "long short": {"length", "time"},
    "big bigg large small": {"angle", "length", "area", "volume", "share", "density", "power", "data"}
    | MONEY
    | _WEIGHT,
    "hot hott warm cold cool": {"temperature"},
    "cheap costli costly dear expensive pric pricey": {"share", *MONEY},
    "fast quick slow": {"speed", "time", "frequency"},
    "loud quiet": {"loudness"},
    "dens": {"density"},
    "old young": {"time", DATE},
    "new late earli soon": {DATE},
}
_ANY = [("|".join(stems.split()), kinds) for stems, kinds in _STEMS.items()]
_COMPARED = [
    (re.compile(rf"\b(?:(?:{stems})(?:e?r|e?st)|(?:more|most|less|least) (?:{stems})\w?)\b"), kinds)
    for stems, kinds in _ANY
]
_COMPARED += [
    (re.compile(rf"\b{verb}s? (?:the )?(?:more|most|less|least)\b"), kinds)
    for verb, kinds in (("cost", MONEY), ("weigh", {"density", *_WEIGHT}), ("last", {"time", DATE}))
]
_HOW = [(re.compile(rf"\bhow (?:{stems})\w?\b", re.IGNORECASE), kinds) for stems, kinds in _ANY]
_NOUNS = {
    "molar mass|molecular weight": {"molar mass"},
    "density": {"density"},
    "height|elevation|altitude|depth|width|distance": {"length"},
    "length": {"length", "time"},
    "weight|mass": {"density", *_WEIGHT},
    "temperature|melting point|boiling point": {"temperature"},
    "speed": {"speed"},
    "area": {"area"},
    "price|cost|budget|box office": MONEY,
    "duration|runtime|running time": {"time"},
}
_HOW += [
    (re.compile(rf"^\W*what(?: is|'s| was) the (?:{nouns}) of\b", re.IGNORECASE), kinds)
    for nouns, kinds in _NOUNS.items()
]
_HOW += [
    (re.compile(r"\bhow much (?:\S+ ){1,8}?weigh\b", re.IGNORECASE), {"density", *_WEIGHT}),
    (re.compile(r"\bhow much (?:\S+ ){1,8}?cost\b", re.IGNORECASE), MONEY),
    (re.compile(r"^\W*(?:when\b|(?:in |on )?(?:what|which) (?:year|date|month)\b)", re.IGNORECASE), {DATE}),
]


@lru_cache(maxsize=64)  # asked again for each amount of each fact
def without_amounts(question: str) -> str:
    """A question without its numbers and what is said of them: *longer than 90 minutes* is not what it asks for."""
    rest, end = "", 0
    for measure in measures(question):
        rest += question[end : measure.start]
        end = max(end, measure.end)
    return rest + question[end:]


def may_be_asked(question: str, amount: Amount) -> bool:
    """Whether *how tall*, *what is the height*, *when* and the like may ask for this amount."""
    wanted = [kinds for words, kinds in _HOW if words.search(question)]
    if {DATE} in wanted and not (amount.is_time or amount.size <= YEARS[-1]):
        return False  # no year
    return _fits(amount, wanted)


def may_be_compared(question: str, amount: Amount) -> bool:
    """Whether *taller*, *most expensive* and the like may compare this amount."""
    return _fits(amount, _compared_kinds(question))


def _compared_kinds(question: str) -> list[set[str]]:
    """The kinds of amounts that each word of a question, such as *taller*, compares."""
    rest = without_amounts(question)
    return [kinds for words, kinds in _COMPARED if words.search(rest)]


def compares_another_kind(question: str, facts: Sequence[str]) -> bool:
    """Whether a question compares what none of several facts states, although each has amounts whose kind is known:
    *Which is heavier, A or B?* where both say how high something is. Dates may say how long something took."""
    wanted = _compared_kinds(question) if _OR_THAN.search(question) else []
    if not wanted or _HIGH in wanted:  # anything may be high
        return False
    wanted = [kinds | {"time", DATE} if kinds & {"time", DATE} else kinds for kinds in wanted]
    stated = [amounts(fact) for fact in facts]
    found = [one for fact in stated for one in fact]
    known = all(one.unit or one.date for one in found)
    return len(stated) > 1 and all(stated) and known and not any(_fits(one, wanted) for one in found)


def _fits(amount: Amount, wanted: list[set[str]]) -> bool:
    """A number without a unit fits anything, unless it may be a year; pounds may be money."""
    kind = dimension(amount.unit) or (DATE if amount.is_time else "")
    may_be = {kind, "pound sterling"} if amount.unit == "pound" else {kind}
    return not wanted or not kind or any(may_be & kinds for kinds in wanted)
