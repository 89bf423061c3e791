"""How people write: names with small words inside, and questions without a question mark, in lower case, with a typing
mistake."""

from __future__ import annotations

import random
import string

SMALL_WORDS = frozenset(
    "a an and at by de del der des di du e for from in la le of on or the to van von with y".split()
)
"""Words in lower case that a name may have inside."""


def without_mark(question: str) -> str:
    """The question without the mark at its end."""
    return question.rstrip(" ?.!")


def hasty(question: str, draw: random.Random) -> str:
    """The question without its question mark, with one typing mistake, or both, and in lower case in half of the
    cases."""
    bare = without_mark(question)
    way = draw.choice(("bare", "typo", "both"))
    text = question if way == "typo" else bare
    if way != "bare":
        text = with_typo(text, draw)
    return text.lower() if draw.random() < 0.5 else text


def with_typo(text: str, draw: random.Random) -> str:
    """The text with one mistake in a word of four or more letters: two letters in the wrong order, one missing, doubled
    or wrong. Words with digits or a capital are spared, since a name or number that is misspelled is another one."""
    words = text.split(" ")
    places = [n for n, word in enumerate(words) if len(word) >= 4 and word.isalpha() and word.islower()]
    if not places:
        return text
    place = draw.choice(places)
    word, at = words[place], draw.randrange(len(words[place]) - 1)
    words[place] = draw.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at:],
            word[:at] + draw.choice(string.ascii_lowercase) + word[at + 1 :],
        )
    )
    return " ".join(words)
