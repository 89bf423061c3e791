"""Scores of answers: exact match in KQA Pro's form, and EM and F1 of short answers in SQuAD's form.

MuSiQue, HotpotQA and 2WikiMultihopQA use SQuAD's. HotpotQA's script also sets F1 to 0 if only one side is just yes, no
or noanswer; this module scores such a pair by its words.
"""

from __future__ import annotations

import math
import operator
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from bgr.utils.quantities import find_quantities

_JOINTS = re.compile(r"\s*(?:[,;|]|\band\b)\s*")


def normalize_answer(text: str) -> str:
    """The normal form in which `answer_match` compares answers.

    ==================  =========================================  ==============================
    answer              ignored                                    example
    ==================  =========================================  ==============================
    any                 case, spaces, outer quotes, final period   ``" Yes. "`` → ``yes``
    number, year        thousands separators, final zeros          ``1,950.0`` → ``1950``
    number with unit    the same; ``%``, plural or singular        ``92 minutes`` → ``92 minute``
    date                how it is written                          ``May 3, 1990`` → ``1990-05-03``
    name                nothing else; articles, accents count      ``The Thing`` → ``the thing``
    ==================  =========================================  ==============================
    """
    plain = " ".join(text.casefold().split())
    plain = plain.rstrip(".").strip("\"'“”‘’ ").rstrip(".") if any(letter.isalnum() for letter in plain) else plain
    quantities = find_quantities(plain)
    if not quantities or quantities[0].start:
        return plain
    first = quantities[0]
    rest = plain[first.end :].replace("%", " percent").replace("per cent", "percent").split()
    if first.date:
        return " ".join([first.text, *rest])
    return " ".join([_number(first.size, first.text), *(_singular(word) for word in rest)])


def answer_match(predicted: str | None, gold: str) -> bool:
    """Return true if the normal forms are equal; ``None`` (no answer) never matches.

    Numbers are equal within a relative tolerance of one millionth if their units are equal. Several names, separated by
    commas, semicolons, bars or *and*, may be in any order.
    """
    if predicted is None:
        return False
    one, other = normalize_answer(predicted), normalize_answer(gold)
    return one == other or _names(one) == _names(other) or _close(one, other)


def _number(size: float, text: str) -> str:
    if not math.isfinite(size):
        return text
    return str(int(size)) if size == int(size) and abs(size) < 1e15 else repr(size)


def _singular(word: str) -> str:
    if word == "feet":
        return "foot"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _names(text: str) -> list[str]:
    return sorted(part for part in _JOINTS.split(text) if part)


def _close(one: str, other: str) -> bool:
    (a, _, unit), (b, _, other_unit) = one.partition(" "), other.partition(" ")
    try:
        return unit == other_unit and math.isclose(float(a), float(b), rel_tol=1e-6)
    except ValueError:
        return False


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def plain_answer(text: str) -> str:
    """SQuAD's normal form: lower case, no ASCII punctuation, no a, an or the, single spaces; applied in this order."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def answer_em(predicted: str | None, answers: Sequence[str]) -> float:
    """1 if the plain form equals that of one of the answers, else 0. ``None`` or no answers give 0."""
    return _best(operator.eq, predicted, answers)


def answer_f1(predicted: str | None, answers: Sequence[str]) -> float:
    """The highest F1 of words in plain form over the answers, counting repeated words; 0 … 1, higher is better.

    If one side has no words left, F1 is 1 if neither side has any, else 0. ``None`` or no answers give 0.
    """
    return _best(_word_f1, predicted, answers)


def answer_partial(predicted: str | None, answers: Sequence[str]) -> float:
    """1 if, in plain form, the prediction is a contiguous part of an answer or an answer is one of the prediction.

    Otherwise it is 0; higher is better. Its mean is the partial match accuracy of PRISM, Table 7, which the paper does
    not define. If one side has no words left, it is 1 if neither side has any, else 0. ``None`` or no answers give 0.
    """
    return _best(_one_in_the_other, predicted, answers)


def _best(
    score: Callable[[Sequence[str], Sequence[str]], float], predicted: str | None, answers: Sequence[str]
) -> float:
    """The highest score of the prediction's words in plain form against those of an answer."""
    if predicted is None:
        return 0.0
    words = plain_answer(predicted).split()
    return float(max((score(words, plain_answer(answer).split()) for answer in answers), default=0.0))


def _one_in_the_other(first: Sequence[str], second: Sequence[str]) -> bool:
    if not first or not second:
        return first == second
    short, long = sorted((f" {' '.join(first)} ", f" {' '.join(second)} "), key=len)
    return short in long


def _word_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))
