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


def one_mistake_before(word: str) -> dict[str, float]:
    """What may have been meant by a misspelled word of the letters a to z, each with its probability to become this
    word, up to a factor: by a mistake of the kinds of `with_typo`, where a wrong letter is one of 25, or by any letter
    too much."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    letters = string.ascii_lowercase
    rare = 1 / (len(letters) - 1)
    found = dict.fromkeys((a + b[1:] for a, b in cuts if b), rare)
    found |= dict.fromkeys((a + one + b[1:] for a, b in cuts if b for one in letters), rare)
    found |= dict.fromkeys((a + b[1:] for a, b in cuts if b and a.endswith(b[0])), 1.0)
    found |= dict.fromkeys((a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1), 1.0)
    found |= dict.fromkeys((a + one + b for a, b in cuts for one in letters), 1.0)
    found.pop(word, None)
    return found
