"""Cleaning of names and lists of names as the data packages write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# pieces that a split at the commas tears off a name: "Ed Begley, Jr." and "Tim Bentinck, 12th Earl of Portland"
_GENERATION = re.compile(r"(Jr|Sr)\.?|II|III|IV")
_COMPANY_FORM = re.compile(r"(Inc|Ltd|LLC|Corp|Co)\.?")
_TITLE = re.compile(
    r"\d+(st|nd|rd|th) .*|Ph\.?D\.?|M\.?D\.?|Baron Hill"
    r"|(Baron|Baroness|Count|Countess|Duke|Duchess|Earl|Lord|Lady|Marquess|Prince|Princess|Viscount) (of|Consort of) .*"
)
# "Huey Lewis and the News" is a band; "Scott Alexander and Larry Karaszewski" are two people
_NOT_A_PERSON = re.compile(r"[Tt]he .*|list of .*|.* & .*|.* and the .*|Q\d+|\d+")


def split_list(field: str | None) -> list[str]:
    """The items of a comma-separated field: trimmed, in order, each once, without ``N/A``."""
    items = (" ".join(item.split()) for item in (field or "").split(","))
    return unique(item for item in items if item and item != "N/A")


def split_companies(field: str | None) -> list[str]:
    """Company names; a torn-off ``Inc.`` goes back to its name."""
    return _rejoin(field, _COMPANY_FORM, ", ")


def split_people(field: str | None) -> list[str]:
    """Names of single persons: torn-off ``Jr.`` put back, titles dropped, pairs parted, bands left out."""
    names = [name for name in _rejoin(field, _GENERATION, " ") if not _TITLE.fullmatch(name)]
    return unique(single for name in names for single in part_pair(name) if not _NOT_A_PERSON.fullmatch(single))


def part_pair(name: str) -> list[str]:
    """``Pierre and Marie Curie`` as two names; anything else as one."""
    first, joint, second = name.partition(" and ")
    if not joint or len(second.split()) < 2 or second.startswith("the "):
        return [name]
    if len(first.split()) > 1:
        return [first, second]
    # only given names stand before "and": the surname follows the second given name
    surname = second.split(" ", 1)[1] if len(second.split()) == 2 else _surname(second)
    return [f"{first} {surname}", second]


def fold(name: str) -> str:
    """A key for comparing place names: lower case, no accents or punctuation, ``St.`` as ``Saint``."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    plain = re.sub(r"\bst\b\.?", "saint", "".join(c for c in plain if not unicodedata.combining(c)))
    return re.sub(r"[^\w]", "", plain)


def unique(items: Iterable[str]) -> list[str]:
    """Each item once, in the order of its first appearance."""
    return list(dict.fromkeys(items))


def _surname(name: str) -> str:
    """The family name with its particles: ``de Elhuyar`` of ``Juan José de Elhuyar``."""
    words = name.split()
    start = len(words) - 1
    while start > 1 and words[start - 1][0].islower():
        start -= 1
    return " ".join(words[start:])


def _rejoin(field: str | None, suffix: re.Pattern[str], glue: str) -> list[str]:
    names: list[str] = []
    for raw in (field or "").split(","):
        item = " ".join(raw.split())
        if not item or item == "N/A":
            continue
        if suffix.fullmatch(item) and names:
            names[-1] += glue + item
        elif not suffix.fullmatch(item):
            names.append(item)
    return unique(names)
