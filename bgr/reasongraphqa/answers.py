"""Do two answers say the same? KoPL's printed forms against KQA Pro's annotations."""

from __future__ import annotations

import math
import re

from bgr.errors import DataError
from bgr.kb.schema import parse_date

# possessive, so that an answer of a hundred thousand digits is not tried in every way
_NUMBER = re.compile(r"([-+]?(?:[\d,]*+(?<=\d)|[\d,]*+\.\d+)(?:[eE][-+]?\d+)?)(?: (.+))?")


def same_answer(executed: str, annotated: str) -> bool:
    """Equal texts without regard to case and spaces, equal dates, or equal numbers with equal units."""
    a, b = (" ".join(text.casefold().split()) for text in (executed, annotated))
    if a == b:
        return True
    dates = _date(a), _date(b)
    if None not in dates:
        return dates[0] == dates[1]
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return False
    # KoPL prints a number within 1e-5 of a whole one as that whole number
    return left[1] == right[1] and math.isclose(left[0], right[0], rel_tol=1e-6, abs_tol=1e-5)


def _date(text: str) -> str | None:
    try:
        return parse_date(text).isoformat()
    except DataError:
        return None


def _number(text: str) -> tuple[float, str] | None:
    match = _NUMBER.fullmatch(text)
    number = float(match[1].replace(",", "")) if match else math.inf
    return (number, match[2] or "") if match and math.isfinite(number) else None
