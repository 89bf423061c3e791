"""QA EM: does a predicted answer say what the annotated one says, by KQA Pro's habits?"""

from __future__ import annotations

import math
import re

from bgr.quantities import find_quantities

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
