"""The ideas that a text names: words with the same meaning are one idea, any other content word is one by its stem.

A wording that keeps all ideas of its question and adds none seldom changes its meaning. The table need not be complete:
a word that is missing here costs a good wording, and lets no wrong one through.
"""

from __future__ import annotations

import re

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.paraphrase.wording import DIRECTIONS, NAME
from bgr.utils.quantities import MONTHS

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
"""Words that name a relation or an attribute beyond doubt; only what is frequent in questions is listed."""

ROLES = frozenset(
    "director writer actor producer composer editor publisher distributor founder owner discoverer inventor birth "
    "death marriage education capital border place_served currency language".split()
)
"""Names of relations between two things; the other names are of attributes of one."""

_FILM = r"(?:films?|movies?|pictures?)"
_AFTER_FILM = "(?:" + "|".join(f"(?<={word} )" for word in "film films movie movies picture pictures".split()) + ")"
_WHEN = r"(?:in|of|from|after|before|later than|earlier than|prior to) (?:the year )?"
_NO_MONEY = r"(?! (?:more|less|over|under|the most|the least|money|at|exactly|[\d$]))"
_GROUPS = {
    # of a "1963 film" and a "film from 1963" the year is the idea, so that it stays the year of the release
    "release": rf"releas\w*|c(?:a|o)mes? out|coming out|premier\w*|(?:first )?shown(?: for the first time)?|opened|"
    rf"{_AFTER_FILM}{_WHEN}(?=\d{{4}})|\d{{4}} (?=(?:\w+ ){{0,2}}{_FILM})",
    "director": rf"{STEMS['director']}|makers?|made (?:by|the(?! most| least))|(?<={NAME} )ma[dk]e{_NO_MONEY}|"
    rf"{_AFTER_FILM}(?:by|of)(?= {NAME})",
    "writer": rf"(?:writes?|wrote|written|writing|authors? of) the (?:script|screenplay)|{STEMS['writer']}",
    "discoverer": rf"{STEMS['discoverer']}|found",
    "currency": rf"{STEMS['currency']}|pays?|us(?:es?|ed|ing)(?= (?:the )?{NAME})",
    "GDP": r"GDP|gross domestic product|econom\w+",
    "PPP": r"PPP|purchasing power(?: parity)?",
    "internet domain": r"(?:top-level|internet|web) domains?",
    "atomic number": r"(?:atomic|proton) (?:numbers?|counts?)|protons?",
    "mass": r"(?:(?:atomic|molecular|molar) )?(?:mass(?:es)?|weights?)|weighs?|heav\w+|light(?:er|est)",
    "film": _FILM,
    "country": r"countr(?:y|ies)|nations?",
    "city": r"cit(?:y|ies)|towns?",
    "state": r"(?:american )?states?(?! that| the)|administrative regions?",
    "compound": r"compounds?|chemicals?|substances?",
    "place_served": rf"{STEMS['place_served']}|handl\w+|(?:for )?flights",
    "score": r"scor\w+|rat(?:ed|ings?)",
    "review": r"critics?|critical(?:ly)?|review\w*",
    "box_office": rf"{STEMS['box_office']}|br(?:ing|ought)s? in",
    "abbreviation": r"abbreviat\w+|symbols?",
    # "the actor who stars in it" and "who stars in it" name the role once
    "actor": r"act(?:or|ress)(?: who| that)?(?: also)? (?:appear\w*|star(?:s|red)|act(?:s|ed)|play(?:s|ed) in)|"
    rf"{STEMS['actor']}|star",
    "melting_point": rf"(?:becomes? )?(?:{STEMS['melting_point']})",
    "temperature": r"temperatures?|point",
    "language": rf"{STEMS['language']}|speakers?",
    "relation": r"relat\w+|connect\w*|to do with|link\w*",
    "recognized": r"recogni[sz]\w+",
    "person": r"person|someone|somebody|individual",
    "kind": r"kinds?|types?|sorts?",
}
_GROUPS = {**_GROUPS, **{name: stems for name, stems in STEMS.items() if name not in _GROUPS}}
_TOKEN = re.compile(
    rf"\b(?:{'|'.join(f'(?P<g{number}>{words})' for number, words in enumerate(_GROUPS.values()))})\b"
    r"|(?P<word>[^\W\d_]+)",
    re.IGNORECASE,
)

_EMPTY = frozenset(
    """a an the this that these those it its they them their he she his her who whom whose which what when where why how
    is are was were be been being am do does did done has have had having can could would will should may
    and also but as at by for from in into of off on onto out over per than to up with within under above below between
    among after before since until during about while if whether then there so such very just all any each every
    one ones two three four five six seven eight nine ten eleven twelve own some both many much high often frequently
    i you me us we please tell name give gave given gives say says said state stated states list listed lists show know
    find get gets got receive received receives take takes took made make makes call called known named considered
    number numbers total count counts counted amount value level many exactly equal true case fact
    people thing things part belong belongs belonging member
    according based going credited credit recorded record records year years date day time times
    locate located lie lies situated place status s t d ll m or not no nor without out either
    exceeds exceeding exceed live lives living come comes still
    us dollar dollars usd percent percentage kelvin kelvins k metre metres meter meters feet foot ft km kilometre
    kilometres gram grams cubic centimetre centimetres cm dalton daltons da unit units points hundred thousand million
    billion trillion""".split()
)
"""Words that carry no idea of their own here. Numbers, directions and negations have checks of their own."""


def ideas(masked: str) -> frozenset[str]:
    """The ideas of a masked text or of a key."""
    return frozenset(idea for idea, _, _ in places(masked))


def places(masked: str) -> list[tuple[str, int, int]]:
    """The ideas of a masked text from left to right, each with its start and end."""
    return [(idea, *match.span()) for match in _TOKEN.finditer(masked) if (idea := _idea(match)) is not None]


def _idea(match: re.Match[str]) -> str | None:
    word = match["word"]
    if word is None:
        return list(_GROUPS)[int((match.lastgroup or "g0")[1:])]
    word = word.casefold()
    return None if word in _EMPTY | DIRECTIONS | set(MONTHS) else _stem(word)


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|y)$", "i", word) if word.endswith(("ies", "y")) else re.sub(r"(?:es|s|ing|ed|e)$", "", word)


_ROLE = re.compile(
    r"\b(?:(?:screen)?writer|\w*act(?:or|ress)|director|producer|composer|maker|star|discoverer|author)s?\b", re.I
)
"""A role instead of "the person who"."""


def lost_ideas(masked: str, masked_question: str) -> frozenset[str]:
    """The ideas of the question that a wording does not have."""
    lost = ideas(masked_question) - ideas(masked)
    return lost - {"person"} if _ROLE.search(masked) else lost


def new_ideas(masked: str, masked_question: str, program: Program) -> frozenset[str]:
    """The ideas of a wording that neither the question nor a key or concept of the program has."""
    keys = (
        ideas(given)
        for step in program.steps
        for role, given in step.named_inputs
        if role in ("key", "predicate", "concept")
    )
    return ideas(masked) - ideas(masked_question).union(*keys)
