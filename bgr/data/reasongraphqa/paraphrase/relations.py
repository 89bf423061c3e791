"""Words that name a relation or an attribute beyond doubt, so that one is not paraphrased into another, or lost.

Only what is frequent in questions is listed; a relation without words here is not checked.
"""

from __future__ import annotations

import re
from collections import Counter

_STEMS = {
    "director": r"direct(?:s|ed|ing|ors?|ion)?|helm\w*|filmmakers?",
    "writer": r"writ(?:e|es|er|ers|ing|ten)|wrote|screenwrit\w+|script\w*|screenplays?|penn?(?:ed|s)?|authors?",
    "actor": r"act(?:s|ed|ing|ors?|ress(?:es)?)?|star(?:s|red|ring)|cast|appear\w*|featur\w+|seen|on screen|in it|"
    r"a part|play(?:s|ed)? in|perform(?:s|ed|ing|ers?)",
    "producer": r"produc(?:e|es|ed|er|ers|ing|tion)",
    "composer": r"compos(?:e|es|ed|er|ers|ing)",
    "editor": r"edit(?:s|ed|or|ors|ing)?",
    "publisher": r"publish\w*",
    "distributor": r"distribut(?:e|es|ed|ors?|ion)",
    "founder": r"founded|founders?|establish\w*",
    "owner": r"own(?:s|ed|ers?|ing)",
    "discoverer": r"discover\w*|identif\w+",
    "inventor": r"invent(?:s|ed|or|ors|ion)",
    "birth": r"born|birth\w*|into the world",
    "death": r"die[sd]?|death|buried|burial",
    "marriage": r"marri\w+|spouses?|wife|wives|husbands?",
    "education": r"educat\w+|stud(?:y|ied|ies)|graduat\w+",
    "capital": r"capitals?|government",
    "border": r"border\w*|frontiers?|neighbou?r\w*|adjoin\w*|adjacent|next to",
    "place_served": r"serv(?:e|es|ed|ing)|travell?ers",
    "currency": r"currenc(?:y|ies)|legal tender|monetary|pays? (?:its|with)",
    "review": r"critics?|critical\w*|review\w*|rat(?:ed|ings?)|scor\w+",
    "box_office": r"box office|gross\w*|takings|revenues?|ticket\w*|earn\w*|money|t(?:ook|akes?) in",
    "runtime": r"minutes?|hours?|min|long(?:er|est)?|short(?:er|est)?|lengths?|runtime|running|duration|lasts?|"
    r"lasted|runs?|playing time|watch|(?:more|most|less|least) time",
    "population": r"population|inhabitants|residents|populous|populated|people",
    "elevation": r"elevation|altitude|sea level|heights?",
    "boiling_point": r"boil\w*|evaporat\w*",
    "melting_point": r"melt\w*|fusion|liquid|solid",
    "density": r"dens\w+",
    "language": r"languages?|spoken|speaks?",
}
_RELATION = re.compile(rf"\b(?:{'|'.join(f'(?P<{name}>{stems})' for name, stems in _STEMS.items())})\b", re.IGNORECASE)

SAID_OTHERWISE = frozenset({"director", "discoverer", "currency"})
"""Relations that are also said with words that name none: "the film by", "found by", "the country that uses"."""


def relations(text: str) -> frozenset[str]:
    """The relations and attributes that a text names."""
    return frozenset(mentions(text))


def mentions(text: str) -> Counter[str]:
    """How often a text names each of its relations and attributes."""
    return Counter(match.lastgroup for match in _RELATION.finditer(text) if match.lastgroup)
