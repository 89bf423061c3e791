"""Words that name a relation or an attribute beyond doubt; only what is frequent in questions is listed."""

from __future__ import annotations

STEMS = {
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

ROLES = frozenset(
    "director writer actor producer composer editor publisher distributor founder owner discoverer inventor birth "
    "death marriage education capital border place_served currency language".split()
)
"""Those that relate two things; the others describe one."""
