"""EM and F1 of short answers, as SQuAD defines them and MuSiQue, HotpotQA and 2WikiMultihopQA use them.

HotpotQA's own script gives F1 = 0 besides, where one side is just yes, no or noanswer and the other is not; here such a
pair is scored by its words like any other.

QA EM: does a predicted answer say what the annotated one says, by KQA Pro's habits?
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

from bgr.utils.quantities import find_quantities

_JOINTS = re.compile(r"\s*(?:[,;|]|\band\b)\s*")


def normalise(text: str) -> str:
    """The form in which answers are compared.

    ==================  =========================================  ==============================
    answer              what plays no part                         example
    ==================  =========================================  ==============================
    any                 case, spaces, quotes around it, last stop  ``" Yes. "`` → ``yes``
    number, year        thousands separators, final zeros          ``1,950.0`` → ``1950``
    number with unit    the same; ``%``, a plural's last s         ``92 minutes`` → ``92 minute``
    date                how it is written                          ``May 3, 1990`` → ``1990-05-03``
    name                nothing else: articles and accents count   ``The Thing`` → ``the thing``
    ==================  =========================================  ==============================
    """
    plain = " ".join(text.casefold().split())
    plain = plain.strip("\"'“”‘’ ").rstrip(".") if any(letter.isalnum() for letter in plain) else plain
    quantities = find_quantities(plain)
    if not quantities or quantities[0].start:
        return plain
    first = quantities[0]
    rest = plain[first.end :].replace("%", " percent").replace("per cent", "percent").split()
    if first.date:
        return " ".join([first.text, *rest])
    return " ".join([_number(first.size, first.text), *(_singular(word) for word in rest)])


def answer_match(predicted: str | None, gold: str) -> bool:
    """Whether the normal forms are equal; ``None``, no answer, never is.

    Numbers are equal within a millionth of their size, with equal units. Several names, divided by commas, semicolons,
    bars or *and*, may stand in any order.
    """
    if predicted is None:
        return False
    one, other = normalise(predicted), normalise(gold)
    return one == other or _names(one) == _names(other) or _close(one, other)


def _number(size: float, text: str) -> str:
    if not math.isfinite(size):
        return text
    return str(int(size)) if size == int(size) and abs(size) < 1e15 else repr(size)


def _singular(word: str) -> str:
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
    """Lower case, without ASCII punctuation and the words a, an, the, single spaces between words: in this order."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def answer_em(predicted: str | None, answers: Sequence[str]) -> float:
    """1 where the plain form equals that of one of the answers, else 0; ``None`` and no answers give 0."""
    if predicted is None:
        return 0.0
    return float(any(plain_answer(predicted) == plain_answer(answer) for answer in answers))


def answer_f1(predicted: str | None, answers: Sequence[str]) -> float:
    """The best over the answers of the F1 of words in plain form, each as often as it occurs; 0 … 1, higher is better.

    Where one side has no words left it is 1 if neither has, else 0. ``None`` and no answers give 0.
    """
    if predicted is None:
        return 0.0
    return max(
        (_word_f1(plain_answer(predicted).split(), plain_answer(answer).split()) for answer in answers), default=0
    )


def answer_partial(predicted: str | None, answers: Sequence[str]) -> float:
    """1 where, in plain form, all words of the prediction stand side by side in one of the answers or the other way
    round, else 0; higher is better. Its mean is the partial match accuracy (PRISM, Table 7; the paper does not define
    it, so this reading is ours).

    Where one side has no words left it is 1 if neither has, else 0. ``None`` and no answers give 0.
    """
    if predicted is None:
        return 0.0
    words = plain_answer(predicted).split()
    return float(any(_one_in_the_other(words, plain_answer(answer).split()) for answer in answers))


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
