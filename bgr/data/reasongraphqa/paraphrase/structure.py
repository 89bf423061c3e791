"""What belongs together in a question: which relation a name stands beside, how conditions are joined.

Texts with the same names, numbers and ideas may still ask for different things: "films by the director of X and the
writer of Y" and "films by the writer of X and the director of Y". All texts are masked (see `mask`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from bgr.data.reasongraphqa.paraphrase.vocabulary import ROLES, ideas, places
from bgr.data.reasongraphqa.paraphrase.wording import DIRECTIONS, NAME
from bgr.utils.quantities import measures

_PAIR = re.compile(rf"{NAME},? (?:and|or) (?:the )?{NAME}")
_OBJECT = re.compile(rf" (?:by |in |of |for |with )?(?:the )?{NAME}")
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_YEAR = re.compile(
    r",? (?:in|on|of|from|since|until|before|after|later than|earlier than|prior to) (?:the year )?(\d{4})\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\b(?:films?|movies?)\b[^,]* where\b", re.IGNORECASE)
_STRANDED = re.compile(
    rf"\b(?:have|has|reviews?|scores?|ratings?|runtime|length|duration|minutes|percent|dollars|office|revenue|gross|\d+)"
    rf" (?:by|from) {NAME}|{NAME} (?:by|from) {NAME}|border\w* {NAME} with\b",
    re.IGNORECASE,
)


def beside(masked: str, names: Sequence[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Each name with the word before it and the roles nearest to it, once for each of its places.

    Args:
        names: the names in the order of their places in the masked text.
    """
    roles = [place for place in places(masked) if place[0] in ROLES]
    for name, match in zip(names, re.finditer(NAME, masked), strict=True):
        gaps = {(max(match.start() - end, start - match.end()), role) for role, start, end in roles}
        before = (masked[: match.start()].casefold().split() or [""])[-1]
        yield name, before, frozenset(role for gap, role in gaps if gap == min(gaps)[0])


def objects(masked: str, names: Sequence[str]) -> set[tuple[str, str]]:
    """Each role that a name follows at once, as in "serves Nordia" and "directed by Bo Lind", with this name.

    Args:
        names: the names in the order of their places in the masked text.
    """
    return {
        (role, names[masked.count(NAME, 0, end)])
        for role, _, end in places(masked)
        if role in ROLES and _OBJECT.match(masked, end)
    }


def is_regrouped(masked: str, masked_question: str, function: str) -> bool:
    """True if conditions are joined otherwise.

    A role is named more or less often ("directed by the director of X" for "directed by the one who directed X" is
    equal), an "or" is lost or new, two names become a pair, or a part stands where it belongs to something else.

    Args:
        function: the last function of the program.
    """
    said, asked = _roles(masked), _roles(masked_question)
    if any(said[role] != asked[role] for role in asked) or any(said[role] > 1 for role in said.keys() - asked.keys()):
        return True
    # "which is longer, X or Y" may be "of X and Y, which one is longer"
    lists = function.startswith("Select") or function == "QueryRelation"
    if not lists and bool(_OR.search(masked)) != bool(_OR.search(masked_question)):
        return True
    patterns = (_STRANDED, _WHERE) if lists else (_STRANDED, _WHERE, _PAIR)
    return any(one.search(masked) and not one.search(masked_question) for one in patterns)


def dated(masked: str, names: Sequence[str]) -> set[tuple[str, str]]:
    """Each name that a year follows, as in "by Bo Lind before 1963", with the year.

    Args:
        names: the names in the order of their places in the masked text.
    """
    found = (
        (name, _YEAR.match(masked, match.end())) for name, match in zip(names, re.finditer(NAME, masked), strict=True)
    )
    return {(name, year[1]) for name, year in found if year}


def alternatives(masked: str, names: Sequence[str]) -> list[frozenset[object]]:
    """The names and quantities before and after each "or".

    Args:
        names: the names in the order of their places in the masked text.
    """
    left = iter(names)
    return [
        frozenset([*islice(left, part.count(NAME)), *((one.value, one.unit) for one in measures(part))])
        for part in _OR.split(masked)
    ]


def _roles(masked: str) -> Counter[str]:
    return Counter(idea for idea, _, _ in places(masked) if idea in ROLES)


def compares_another(masked: str, key: str, others: Sequence[str]) -> bool:
    """True for "the country with the lowest literacy rate of 98 %" if another key is to be the lowest.

    Args:
        key: the key that the last step compares.
        others: the keys of the other steps.
    """
    foreign = frozenset().union(*map(ideas, others)) - ideas(key)
    return any(
        ideas(match[2]) & foreign
        for match in re.finditer(r"\b(\w+) (\w+)", masked)
        if match[1].casefold() in DIRECTIONS
    )
