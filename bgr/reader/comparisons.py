"""Comparisons that the words of question and facts settle: *Which is heavier, the ox or the calf?*, *Did A open before
B?*, *Is A over 3,000 metres high?*

The model has learned them for the things that its training compares. Here nothing is learned: each fact states one
amount of a thing that the question names, and the question says which one it wants.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bgr.reader.amounts import (
    Amount,
    amounts,
    bounds,
    common_sizes,
    compared,
    dimension,
    is_within,
    main_dimension,
    same_dimension,
)
from bgr.reader.asked_kind import may_be_compared
from bgr.reader.question_words import asks_for_most, asks_yes_or_no, comparison
from bgr.utils.quantities import MONTHS

MAX_COMPARED = 64
"""Maximum facts whose numbers are compared."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LAST = re.compile(r"\b(than|before|after)\s+([^,;:?]+?)\s*\?*\s*$")
_ASKS_AMOUNT = re.compile(r"\bhow \w+\b|\b(?:what|which) (?:year|month|date)\b|^\W*(?:when|where)\b", re.IGNORECASE)
_OFFERED = "or|and|(?:^|which |who |what )of|between|among|is|was|did|does|has"
_LASTING = "been|exist|existed|exists|running|in business|in office|held"
_LASTS = re.compile(
    rf"\b(?:{_LASTING})(?: \w{{1,20}}){{0,3}} (long|short)(?:er|est)\b|\b(long|short)(?:er|est) (?:histor|exist)"
)
_DESCRIBED = re.compile(
    r"\b(?:that|which|who|whose|with)\b|^\W*(?:is|are|does|do|has|have|can)\b.*\b(?:released|published|made|built|born|opened)\b",
    re.IGNORECASE | re.DOTALL,
)
_BEFORE_DATE = re.compile(
    rf"\b(?:before|after|since|until|till|by|between|in|on|from|to|of|year|{'|'.join(MONTHS)})\s*$", re.IGNORECASE
)
_EQUAL = (None, "=", "!=")
_SMALL = re.compile(r"\b[a-z]{4,}")
_WHEN = re.compile(r"\b(?:before|after)\b")
_BETWEEN = re.compile(r"\bor\b|\b(?:[Oo]f|[Bb]etween|[Aa]mong)\b[^?]*\band\b")
_PLAIN = frozenset(
    "a an the of in on at to for from by with and or is are was were be did do does has have had it its than before "
    "after which who what one more less most least first last later earlier this that these those as into".split()
)


@dataclass(frozen=True)
class Comparison:
    """The answer of a comparison, the positions of the compared facts, that of the answer first, and their amounts in
    the same order; one fact if its amount is compared with the question's."""

    text: str
    facts: tuple[int, ...]
    amounts: tuple[Amount, ...]


def compare_named(question: str, facts: Sequence[str]) -> Comparison | None:
    """The answer of a question that compares what the facts are about.

    ``None`` unless at least two facts, for *Is A larger than B?* exactly two, have one amount of the kind that is asked
    for, and words of the question that no other one of them has. Other facts, and those that say the same again, are
    passed over.
    """
    whether = asks_yes_or_no(question)
    if not whether and (not _BETWEEN.search(question) or _ASKS_AMOUNT.search(question)):
        return None
    found = _distinct(question, facts)
    if len(found) < 2 or (whether and len(found) > 2):
        return None
    numbers, stated = list(found), list(found.values())
    own = _own_words(question, [facts[n] for n in numbers])
    sizes = common_sizes(stated)
    if sizes is None or not all(own):
        return None
    if whether:
        chosen = _whether(question, own, stated, sizes)
    else:
        most = wants_most(question, stated)
        best = None if most is None else (max if most else min)(sizes)
        chosen = None if best is None or sizes.count(best) > 1 else ("", sizes.index(best))
    if chosen is None:
        return None
    text, first = chosen
    order = (first, *(n for n in range(len(stated)) if n != first))
    text = text or _name(question, facts[numbers[first]], own[first])
    if not whether and not _is_alternative(question, text):
        return None
    return Comparison(text, tuple(numbers[n] for n in order), tuple(stated[n] for n in order))


def verify_stated(question: str, facts: Sequence[str]) -> Comparison | None:
    """*yes* or *no*, where a question ends with the amount that it verifies, *Is it over 3,000 metres high?*, and the
    facts state one of the same kind, with a unit or as a date; ``None`` otherwise."""
    asked = amounts(question) if asks_yes_or_no(question) and not _DESCRIBED.search(question) else []
    if not 0 < len(asked) <= 4 or len(_WORD.findall(question[asked[-1].end :])) > 1:
        return None
    place, said = asked[-1], [comparison(question, (one.start, one.end)) for one in asked]
    ends = bounds(question, place)
    if ends is None and (said[-1] in _EQUAL or any(one not in _EQUAL for one in said[:-1])):
        return None
    stated = [
        (n, one)
        for n, fact in enumerate(facts)
        for one in amounts(fact)
        if (same_dimension(place, one) if place.unit else _same_dates(question, place, one, fact))
    ]
    if not stated or any(compared(one, stated[0][1]) != "=" for _, one in stated):
        return None
    number, value = stated[0]
    if ends:  # between 800 and 900 kg
        yes = is_within(ends, value)
    else:
        order = compared(value, place)
        if order is None or (order == "=" and place.date != value.date):
            return None  # 1969 is neither before nor after May 1969
        yes = order in (said[-1] or "")
    return Comparison("yes" if yes else "no", (number,), (value,))


def before_date(text: str) -> bool:
    """Whether the end of a text says that a date or a year follows: *before*, *in*."""
    return _BEFORE_DATE.search(text) is not None


def _same_dates(question: str, one: Amount, other: Amount, fact: str) -> bool:
    """Whether both are dates or years, as the words before them say, and of the same: the question and the fact share a
    verb, or another word in small letters, as far as its first three."""
    if not (one.is_time and other.is_time):
        return False
    dated = before_date(question[: one.start]) and (other.date or before_date(fact[: other.start]))
    asked, told = ({word[:3] for word in _SMALL.findall(text) if word not in _PLAIN} for text in (question, fact))
    return dated and bool(asked & told)


def _distinct(question: str, facts: Sequence[str]) -> dict[int, Amount]:
    """The facts that state one amount of the kind that is compared, each with it; of several that say the same, the
    first."""
    stated = {n: one for n, fact in enumerate(facts) if (one := _only(question, fact)) is not None}
    most, asked = main_dimension(stated.values()), _words(question)
    kept: dict[int, Amount] = {}
    words = {n: _words(facts[n]) & asked for n, one in stated.items() if dimension(one.unit) == most}
    for n in list(words)[: MAX_COMPARED + 1]:
        if not any(words[n] == words[o] and compared(stated[n], kept[o]) == "=" for o in kept):
            kept[n] = stated[n]
    return kept if len(words) <= MAX_COMPARED else {}


def _whether(
    question: str, own: Sequence[set[str]], stated: Sequence[Amount], sizes: Sequence[float]
) -> tuple[str, int] | None:
    """*yes* or *no*, and which of two things the question is about."""
    last = _LAST.search(question)
    if last is None or any(one.start == 0 for one in amounts(last[2])):  # more than 30 reviews
        return None
    before, after = _words(question[: last.start()]), _words(last[2])
    subjects = [n for n in (0, 1) if own[n] & before and not own[n] & after and own[1 - n] & after]
    if last[1] == "than":
        most = wants_most(question[: last.start()], stated)
    else:
        most = last[1] == "after" if all(one.is_time for one in stated) else None
    if len(subjects) != 1 or own[1 - subjects[0]] & before & _names(question) or most is None:
        return None
    [subject] = subjects
    more = sizes[subject] > sizes[1 - subject] if most else sizes[subject] < sizes[1 - subject]
    return "yes" if more else "no", subject


def wants_most(question: str, stated: Sequence[Amount]) -> bool | None:
    """Whether a question asks for the greatest of these amounts and not the least, if a word says so; who is faster
    takes less time, and what has existed longer began earlier."""
    when = all(one.is_time for one in stated)
    most = asks_for_most(question, time=when)
    if when and most is None and (lasts := _LASTS.search(question)):
        return "short" in (lasts[1] or lasts[2])
    takes = all(dimension(one.unit) == "time" for one in stated)
    return not most if most is not None and takes and re.search(r"\b(?:fast|quick|slow)", question) else most


def compared_amounts(question: str, facts: Sequence[str]) -> list[Amount]:
    """The one amount of each fact that is of the kind that the question compares; none if a fact has several or no such
    amount."""
    found = [one for fact in facts if (one := _only(question, fact)) is not None]
    return found if len(found) == len(facts) else []


def _only(question: str, fact: str) -> Amount | None:
    """The one amount of a fact that is of the kind that the question compares."""
    found = [
        one for one in amounts(fact) if may_be_compared(question, one) or (one.is_time and _LASTS.search(question))
    ]
    if any(one.unit for one in found):
        found = [one for one in found if one.unit]
    if len(found) > 1:  # 42 looms and 118 workers: the one whose next words the question has
        asked = _words(question)
        named = [one for one in found if _words(" ".join(fact[one.end :].split()[:2])) & asked]
        when = bool(_WHEN.search(question)) or asks_for_most(question, time=True) is not None
        found = named if len(named) == 1 else [one for one in found if one.is_time == when]
    return found[0] if len(found) == 1 else None


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)} - _PLAIN


def _names(text: str) -> set[str]:
    """The words of a text that have a capital, and its numbers."""
    return {word.lower() for word in _WORD.findall(text) if not word[0].islower()} - _PLAIN


def _own_words(question: str, facts: Sequence[str]) -> list[set[str]]:
    """The words of the question that each fact has, and no other fact."""
    asked, told = _words(question), [_words(fact) for fact in facts]
    return [(words & asked).difference(*(told[:n] + told[n + 1 :])) for n, words in enumerate(told)]


def _is_alternative(question: str, name: str) -> bool:
    """Whether a question offers this name alone, *the ox or the cow*, and not as a part of a description, *the one at
    the ox or the one at the cow*. Further words of a name have a capital."""
    capital = r"[^\W_a-z][\w’'-]*"
    before = rf"(?:(?:^|[,;:(])\s*|\b(?i:{_OFFERED})\s+)[\"“]?(?:(?i:the|an?) )?(?:{capital} ){{0,6}}[\"“]?"
    after = rf"(?= {capital}|[\"”)]?\s*(?:[,;:?.!)]|$|\b(?:or|and)\b))"
    return re.search(before + re.escape(name) + after, question) is not None


def _name(question: str, fact: str, own: set[str]) -> str:
    """The longest run of words that the question shares with the fact around one of its own words."""
    shared, runs = _words(fact), [""]
    for part in re.split(r"[,;:?]|\bor\b", question):
        run: list[re.Match[str]] = []
        for word in [*_WORD.finditer(part), None]:
            if (
                word is not None
                and word[0].lower() in shared | {"of", "the", "in"}
                and (run or word[0].lower() in shared)
            ):
                run.append(word)
                continue
            while run and run[-1][0].lower() not in shared:
                run.pop()
            if any(one[0].lower() in own for one in run):
                runs.append(part[run[0].start() : run[-1].end()])
            run = []
    name = max(runs, key=len)
    titles = [whole for article in ("A", "An", "The") if (whole := f"{article} {name}") in question and whole in fact]
    return titles[0] if titles else name
