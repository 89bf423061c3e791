"""Which words of a dataset are everyday ones: the closed vocabulary of a reader with placeholders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from bgr.reader.name_pieces import JOINTS, at_sentence_start, tokens_of

SELDOM = 0.0005
"""Share of the texts that an everyday word stands in at least."""

CAPITAL_SHARE = 0.1
"""A word that stands inside sentences with a capital more often than this is a name's."""

MOST_COUNTED = 50


def everyday_words(texts: Iterable[str], answers: Iterable[str]) -> tuple[str, ...]:
    """Words that are written small inside sentences, abbreviations, and what answers say beyond their texts.

    Args:
        texts: questions with evidence.
        answers: their answers.

    Returns:
        In small letters, abbreviations as they are written; sorted. Also *yes*, *no*, and the numbers to `MOST_COUNTED`
        for what is counted.
    """
    small, started, inside, short = (Counter[str]() for _ in range(4))
    number = 0
    for text in texts:
        number += 1
        seen: dict[str, bool] = {}
        for before, word in pairwise([".", *tokens_of(text)]):
            seen[word] = seen.get(word, True) and at_sentence_start(before)
        for word, only_started in seen.items():
            if sum(letter.isupper() for letter in word) > 1:
                short[word] += 1
            elif word[0].isupper():
                (started if only_started else inside)[word.lower()] += 1
            elif word.isalpha() or word[0] in "'’":
                small[word] += 1
    least = max(2.0, SELDOM * number)
    found = {word for word, times in (small + started).items() if times >= least}
    found = {word for word in found if small[word] or inside[word] < CAPITAL_SHARE * started[word]}
    found |= _spoken(answers, least) | set(JOINTS) | {"yes", "no"}
    found |= {word for word, times in short.items() if times >= 10 * least}
    return tuple(sorted(found | {str(count) for count in range(MOST_COUNTED + 1)}))


def _spoken(answers: Iterable[str], least: float) -> set[str]:
    """Words of answers: those of units, and what many answers say."""
    units, others = Counter[str](), Counter[str]()
    for answer in answers:
        words = [word.lower() for word in tokens_of(answer) if word.isalpha()]
        (units if answer[:1].isdigit() else others).update(words)
    return {word for word, times in units.items() if times >= least} | {
        word for word, times in others.items() if times >= 10 * least
    }
