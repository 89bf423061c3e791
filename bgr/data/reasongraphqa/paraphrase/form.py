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
_FINITE = re.compile(
    r"\b(?:gives|has|uses|serves|lies|contains|says|states|speaks|lists|stars|features)\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"\b(?:that|which|who|whom|whose|where)\b", re.IGNORECASE)
_RELATED = re.compile(
    rf"\b(?:relat\w+|connect\w*|link\w*|associat\w+|ties?|tied|(?:have|has|had) to do)\b|{NAME} to {NAME}",
    re.IGNORECASE,
)


_ASKED = re.compile(
    r"(?:\w+[, ]+){0,5}?\b(?:(?P<person>who|whom)|which|what|of|among|between)\b|(?:tell|give|name|find|identify)\b",
    re.IGNORECASE,
)
_KINDS = re.compile(
    r"\b(?:(?P<film>films?|movies?|pictures?)|(?P<person>person|people|actors?|actress(?:es)?|cast members?|directors?|"
    r"(?:screen)?writers?|producers?|makers?|composers?|discoverers?)|(?P<country>countr(?:y|ies)|nations?)|"
    r"(?P<city>cit(?:y|ies)|towns?|capitals?)|(?P<state>states?)|(?P<continent>continents?)|(?P<region>regions?)|"
    r"(?P<airport>airports?)|(?P<element>elements?)|(?P<compound>compounds?|chemicals?|substances?)|"
    r"(?P<family>famil(?:y|ies))|(?P<script>scripts?|alphabets?|writing systems?)|(?P<currency>currenc(?:y|ies))|"
    r"(?P<language>languages?)|(?P<zone>time zones?)|(?P<genre>genres?)|(?P<company>compan(?:y|ies)|studios?)|"
    r"(?P<site>sites?|sources?|websites?))\b",
    re.IGNORECASE,
)
MAX_BEFORE_KIND = 30
"""Characters between "which" or "what" and the kind of thing: room for "is the name of the 2010 comedy"."""
_KIND_FIRST = re.compile(rf"(?:in |of )?(?:which|what) (?:\w+ )?(?:{_KINDS.pattern})", re.IGNORECASE)
_WHAT_IS = re.compile(r"what(?:'s| is| was| are| were)\b", re.IGNORECASE)

_TWICE = re.compile(r"\b(?!that\b|had\b)([a-z]+) \1\b", re.IGNORECASE)
_TWO_PREPOSITIONS = re.compile(r"\b(?:in|with|for|by|at) (?:in|on|by|at|with)\b", re.IGNORECASE)
_TWO_ROLES = re.compile(rf"{NAME} and {NAME} as an? ")
"""As in "starring X and Y as a writer"."""

_WRONG_WORDS = re.compile(
    r"\b(?:directed|wrote|written|produced|starred) on\b"
    r"|^what (?:is|was) the (?:actor|actress|director|writer|producer|person)\b"
    rf"|^how many (?:\w+ )+{NAME} \w+(?:ed|ote)\b"
    rf"|\b(?:films?|movies?) that {NAME} (?:is|was) \w+ by\b"
    r"|\bcountry (?:that|which) is the capital\b"
    r"|^(?:what|which) (?:\w+ )?(?:site|source|website) (?:did|do|does|was|were|is|are)\b"
    r"|\b(?:gave|gives?|given) (?:\w+ )?[\d,]+ reviews\b"
    r"|\bthe (?:group|period|row|column) \d"
    rf"|\b(?:is|was|are|were|been) (?:also |first )?(?:\w+ed|made|written|found) (?:the |a |an )?{NAME}"
    r"|^(?:what|which)(?: (?:film|movie|country|city|element|compound|one|group|period|number))? the\b"
    rf"|\baccording (?!to\b)|{NAME} {NAME}"
    rf"|\b(?:did|does|do) {NAME} [^,]*\band (?:also )?(?:is|was|are|were|has|had)\b"
    rf"|\bthat {NAME} \w+ in and (?:also )?(?:\w+ed|was|were|is|are)\b",
    re.IGNORECASE,
)
"""As in "directed on 5 May", "What is the actor", "How many films X directed?", "the film that X was directed by", "the
country that is the capital of X", "Which site did X get 5 reviews?", "the group 12", "is directed X", "What the
number", "according X", "of X Y", "films that X starred in and also starred Y"."""

_ASKS_TIME = re.compile(
    r"(?:when|(?:in|during|on) (?:what|which) (?:year|date|day)|(?:what|which) (?:year|date|day))\b", re.I
)


def asks_for_another(masked: str, masked_question: str, function: str) -> bool:
    """True if a text asks for a thing of another kind than the question does, or for a value of it.

    For example "What is the lowest box office of the films" for "Which of the films has the lowest box office", or the
    other way round. It is also true if the text's kind is not seen.
    """
    if function in ("What", "SelectBetween", "SelectAmong"):
        said, asked = _kind(masked), _kind(masked_question)
        return said != asked and not (asked is None and not (_WHAT_IS.match(masked) and said is None))
    if function in ("QueryAttr", "QueryAttrUnderCondition"):
        return bool(_KIND_FIRST.match(masked)) and not _KIND_FIRST.match(masked_question)
    return False


def _kind(masked: str) -> str | None:
    """The kind of thing that a question asks for, from its first words, if they name one of the listed kinds."""
    asked = _ASKED.match(masked)
    if asked is None:
        return None
    if asked["person"]:
        return "person"
    kind = _KINDS.search(masked, asked.end(), asked.end() + MAX_BEFORE_KIND)
    return kind.lastgroup if kind else None


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
    if _IS_FIRST.match(masked) and _FINITE.search(masked) and not _CLAUSE.search(masked):
        return True
    verb = _SECOND_VERB.search(masked) if _IS_FIRST.match(masked) else None
    if verb is not None and not _SUBJECT_CLAUSE.search(masked[: verb.start()]):
        return True
    second = _SECOND_PARTICIPLE.search(masked)
    return second is not None and not _FIRST_PARTICIPLE.search(masked[: second.start()])


_IS = re.compile(r"\b(?:is|are|was|were)(?:n't)?\b", re.IGNORECASE)
_PREDICATE_OF_IS = re.compile(
    r"(?:is|was) it (?:true|correct|the case|right) that\b"
    rf"|(?:is|are|was|were) the (?:(?!{_KINDS.pattern})[\w'-]+ ){{1,5}}of\b"
    # not of a clause, as in "that is shorter than"
    r"|.*(?<!\bis)(?<!\bwas)(?<!\bare)(?<!\bwere)(?<!\band)(?<!\bor)(?<!\bthat)(?<!\bwith)(?<!\ba)(?<!\ban) (?:"
    r"(?:short|long|heavi|light|high|low|dens|larg|small|old|young|great)er than"
    r"|(?:released|shown|discovered|found|identified|made) (?:in|on|before|after)) [^?]{1,24}\?$",
    re.IGNORECASE,
)
_PREDICATE_OF_DO = re.compile(
    r"\b(?:have|come|run|last|earn|gross|make|bring|take|serve|use|lie|belong|weigh|melt|boil|get|receive|score|share|"
    r"border|live|speak|hold|contain|exceed|open|premiere|go|become|turn|appear|star|feature)\b",
    re.IGNORECASE,
)
_MAX_SAME = 4


def _has_predicate(masked: str, masked_question: str) -> bool:
    """True if a question for yes or no says something of its subject: "Is the film that has 10 reviews?" does not.

    What is not seen to do so must at least begin and end as the question does.
    """
    said, asked = (
        text[match.start() :].lstrip(",:; ") for text in (masked, masked_question) if (match := _YES_NO.search(text))
    )
    if _IS.match(said):
        if _PREDICATE_OF_IS.match(said):
            return True
    elif _PREDICATE_OF_DO.search(said):
        return True
    first, second = said.split(), asked.split()
    return first[0] == second[0] and first[-_MAX_SAME:] == second[-_MAX_SAME:]


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
        return bool(_YES_NO.search(masked) and not _ASKING.match(masked) and not polite) and _has_predicate(
            masked, masked_question
        )
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
