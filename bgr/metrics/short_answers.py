"""EM and F1 of short answers, as SQuAD defines them and MuSiQue, HotpotQA and 2WikiMultihopQA use them.

HotpotQA's own script gives F1 = 0 besides, where one side is just yes, no or noanswer and the other is not; here such a
pair is scored by its words like any other.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

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
