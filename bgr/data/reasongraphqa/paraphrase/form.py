"""The form of a question: one sentence that asks, of the type of its program. All texts are masked (see `mask`)."""

from __future__ import annotations

import re

from bgr.data.reasongraphqa.paraphrase.wording import NAME

_REQUEST = re.compile(
    r"(?:please |kindly )?(?:name|give|tell|state|count|list|say|find|identify|show|provide|specify|determine)\b"
    r"|(?:please|i would like|i'd like|i want)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(r"\b(?:who|whom|whose|what|which|where|when|why|how)\b", re.IGNORECASE)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should)(?:n't)?\b"
_STARTS_WITH_AUXILIARY = re.compile(_AUXILIARY, re.IGNORECASE)
_YES_NO = re.compile(rf"(?:^|[,:;] ?){_AUXILIARY}", re.IGNORECASE)
_POLITE = re.compile(r"(?:do|can|could|would|will) you\b", re.IGNORECASE)
_NUMBER = re.compile(r"\bhow many\b|\bnumber of\b|(?<!whose )\bcount\b|\btotal\b", re.IGNORECASE)
_WHO_FIRST = re.compile(r"(?:(?:by|from|under|to|with) )?(?:who|whom|whose)\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:who|whom|whose|person|people|name)\b", re.IGNORECASE)
_TIME = re.compile(r"\b(?:when|year|date|day)\b", re.IGNORECASE)

_OF_NAME = re.compile(rf"{_AUXILIARY} (?:the )?{NAME}", re.IGNORECASE)
_THAN_ONE = re.compile(rf"\bthan (?:the |that |{NAME})", re.IGNORECASE)

_NO_VERB = re.compile(rf"(?:when|where|why) (?!{_AUXILIARY})", re.IGNORECASE)
"""As in "When Ada Berg was born?"."""

_SECOND_PARTICIPLE = re.compile(
    r"\b(?:and|or) (?:\w+ed|made|shown|written|set|shot|found|given) (?:in|on|by|after|before|at|under)\b",
    re.IGNORECASE,
)
_FIRST_PARTICIPLE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|that's)\b|\b(?:\w+ed|made|shown|written|set|shot|found|given) "
    r"(?:in|on|by|after|before|at|under|for|to)\b",
    re.IGNORECASE,
)


_WITHOUT_BE = re.compile(
    r"\b(?:that|which) (?:released|made|directed|written|produced|published|discovered|located|spoken|shown|shot|set) "
    r"(?:in|on|by|at|after|before)\b",
    re.IGNORECASE,
)
_SECOND_VERB = re.compile(r"\band (?:also )?(?:has|have|had|is|was|were)\b", re.IGNORECASE)
_SUBJECT_CLAUSE = re.compile(rf"\b(?:that|which|who|whose) (?!{NAME})", re.IGNORECASE)
_IS_FIRST = re.compile(r"(?:what|who) (?:is|are|was|were)\b", re.IGNORECASE)
_RELATED = re.compile(
    rf"\b(?:relat\w+|connect\w*|link\w*|associat\w+|ties?|tied|(?:have|has|had) to do)\b|{NAME} to {NAME}",
    re.IGNORECASE,
)


_ASKED = re.compile(r"(?:\w+[, ]+){0,3}?\b(?:(?P<person>who|whom)|which|what)\b", re.IGNORECASE)
_KINDS = re.compile(
    r"\b(?:(?P<film>films?|movies?|pictures?)|(?P<person>person|people|actors?|actress(?:es)?|cast members?|directors?|"
    r"(?:screen)?writers?|producers?|composers?|discoverers?)|(?P<country>countr(?:y|ies))|(?P<city>cit(?:y|ies)|capitals?)|"
    r"(?P<airport>airports?)|(?P<element>elements?)|(?P<compound>compounds?|chemicals?|substances?)|(?P<language>languages?))\b",
    re.IGNORECASE,
)
MAX_BEFORE_KIND = 30
"""Characters between "which" or "what" and the kind of thing: room for "is the name of the 2010 comedy"."""

_THINGS = ("country", "city", "airport", "element", "compound", "language")

_TWICE = re.compile(r"\b(?!that\b|had\b)([a-z]+) \1\b", re.IGNORECASE)
_TWO_PREPOSITIONS = re.compile(r"\b(?:in|with|for|by|at) (?:in|on|by|at)\b", re.IGNORECASE)
_TWO_ROLES = re.compile(rf"{NAME} and {NAME} as an? ")
"""As in "starring X and Y as a writer"."""

_WRONG_WORDS = re.compile(
    r"\b(?:directed|wrote|written|produced|starred) on\b"
    r"|^what (?:is|was) the (?:actor|actress|director|writer|producer|person)\b"
    rf"|^how many (?:\w+ )+{NAME} \w+(?:ed|ote)\b"
    rf"|\b(?:films?|movies?) that {NAME} (?:is|was) \w+ by\b"
    r"|\bcountry (?:that|which) is the capital\b",
    re.IGNORECASE,
)
"""As in "directed on 5 May", "What is the actor", "How many films X directed?", "the film that X was directed by", "the
country that is the capital of X"."""

_ASKS_TIME = re.compile(
    r"(?:when|(?:in|during|on) (?:what|which) (?:year|date|day)|(?:what|which) (?:year|date|day))\b", re.I
)


def asks_for(masked: str) -> str | None:
    """The kind of thing that a question asks for, from its first words, if they name one of the listed kinds."""
    asked = _ASKED.match(masked)
    if asked is None:
        return None
    if asked["person"]:
        return "person"
    kind = _KINDS.search(masked, asked.end(), asked.end() + MAX_BEFORE_KIND)
    return kind.lastgroup if kind else None


def things(masked: str) -> frozenset[str]:
    """The kinds of things that a text names, without films and people, which are often implied."""
    return frozenset(match.lastgroup for match in _KINDS.finditer(masked) if match.lastgroup in _THINGS)


def repeats(masked: str) -> bool:
    """True if a text says four words in a row twice."""
    words = [word.strip("?.,;:") for word in masked.casefold().split()]
    fours = [tuple(words[n : n + 4]) for n in range(len(words) - 3)]
    return len(set(fours)) < len(fours)


def is_one_question(masked: str) -> bool:
    """True for one sentence that asks or requests something, and has words other than names."""
    text = masked.strip()
    body = text.rstrip("?.! ")
    if re.search(r"[.?!][\"')]*\s", body) or len(text) - len(body) > 1:
        return False
    if not (text.endswith("?") or _REQUEST.match(text)):
        return False
    return any(character.isalpha() for character in body.replace(NAME, ""))


def is_broken(masked: str) -> bool:
    """True for mistakes of small models: a word twice, a clause without a verb, or with a verb that has no subject.

    For example "starred in in 2010", "When X was born?", "starred X and released in 1996", "that released in", "What is
    the area of the city found by X and has …?".
    """
    if _NO_VERB.match(masked) or any(
        one.search(masked) for one in (_WITHOUT_BE, _TWICE, _TWO_PREPOSITIONS, _TWO_ROLES, _WRONG_WORDS)
    ):
        return True
    verb = _SECOND_VERB.search(masked) if _IS_FIRST.match(masked) else None
    if verb is not None and not _SUBJECT_CLAUSE.search(masked[: verb.start()]):
        return True
    second = _SECOND_PARTICIPLE.search(masked)
    return second is not None and not _FIRST_PARTICIPLE.search(masked[: second.start()])


def has_type(masked: str, masked_question: str, function: str, *, asks_time: bool) -> bool:
    """True if a text asks for what the question asks for: yes or no, a number, a person, a time.

    Args:
        function: the last function of the program.
        asks_time: true if the answer is a date or a year.
    """
    polite = _POLITE.match(masked)
    if function.startswith("Verify"):
        # whether a city has 300 people is not asked of the airport that serves it
        if _OF_NAME.match(masked) and not _OF_NAME.match(masked_question):
            return False
        return bool(_YES_NO.search(masked) and not _ASKING.match(masked) and not polite)
    if _STARTS_WITH_AUXILIARY.match(masked) and not polite:
        return False
    if function == "SelectBetween" and _THAN_ONE.search(masked):
        return False
    if not (_ASKING.search(masked) or _REQUEST.match(masked)):
        return False
    # "how many people live in" may become "the population of", but what is counted stays counted
    counts, counted = bool(_NUMBER.search(masked)), bool(_NUMBER.search(masked_question))
    if (counts and not counted) or (function == "Count" and not counts):
        return False
    if function == "QueryRelation" and not _RELATED.search(masked):
        return False
    if _WHO_FIRST.match(masked_question) and not _PERSON.search(masked):
        return False
    if not asks_time and _ASKS_TIME.match(masked) and not _TIME.search(masked_question):
        return False
    return not (asks_time and _TIME.search(masked_question) and not _TIME.search(masked))
