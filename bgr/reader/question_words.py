"""What the words of a question say: *first* and *heavier* of several, *at most* of a number, and which words it has."""

from __future__ import annotations

import re

from bgr.reader.asked_kind import without_amounts
from bgr.utils.quantities import LESS_STEMS, MORE_STEMS, measures


def _pattern(stems: str, words: str) -> re.Pattern[str]:
    # with a capital it is mostly a part of a title
    return re.compile(rf"(?<!\w)(?:(?:{'|'.join(stems.split())})(?:e?r|e?st)|{words})(?!\w)")


_MOST = _pattern(MORE_STEMS, "more|most|maximum|better|best")
_LEAST = _pattern(LESS_STEMS, "less|least|minimum|worse|worst")
_LATEST = _pattern("late new young", "last|(?:more|most) recent(?:ly)?")
_EARLIEST = _pattern("earli old soon", "first|elder|eldest|(?:less|least) recent(?:ly)?")

_WORD = re.compile(r"[^\W_]+")
_YES_OR_NO = re.compile(r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|will|would)\b", re.IGNORECASE)
_ASKS_WHICH = re.compile(r"\b(?:or|which|what|who|whose|whom|where|when|how)\b", re.IGNORECASE)


def asks_for_most(question: str, *, time: bool) -> bool | None:
    """Whether a question asks for the greatest and not the least number, or `time`: for the latest and not the earliest
    date; ``None`` if no word says so, or two disagree. What belongs to a number, as in *more than 90*, is left out."""
    rest = without_amounts(question)
    most, least = (bool(words.search(rest)) for words in ((_LATEST, _EARLIEST) if time else (_MOST, _LEAST)))
    return most if most != least else None


def asks_yes_or_no(question: str) -> bool:
    """Whether a question that compares two things asks if one is more, *Is A larger than B?*, and not which one."""
    return _YES_OR_NO.match(question) is not None and _ASKS_WHICH.search(question) is None


def comparison(question: str, place: tuple[int, int]) -> str | None:
    """What a question says of the number at some characters, such as ``<=`` for *at most 90*; ``None`` if it is only
    near (*about 90*), may be equal or the first (*from 1990*), or no number is there."""
    for measure in measures(question):
        if measure.start < place[1] and place[0] < measure.end:
            return None if measure.op == "~" or measure.cue.endswith("from") else measure.op
    return None


def says(question: str, words: str) -> bool:
    """Whether a question has these words. Of a question that has codes in capitals, such as *CA*, the word *in* is not
    the code *IN*."""
    cased = words.isupper() and any(word.isupper() and len(word) > 1 for word in _WORD.findall(question))
    return whole_words(words, cased=cased) in whole_words(question, cased=cased)


def whole_words(text: str, *, cased: bool = False) -> str:
    """The words of a text, in lower case unless `cased`, a space before and after each, so that only whole words are
    found in it."""
    return f" {' '.join(_WORD.findall(text if cased else text.lower()))} "
