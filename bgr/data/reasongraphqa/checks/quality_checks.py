"""Checks of one sentence against its triples, for fluency, form and faithfulness (paper, section 3.4).

The names and values of the triples, in all their forms, are first separated from the other words: a film may be called
`America America` or `In & Out`, which is not a defect of the sentence.

There is no grammar checker among the checks: those on PyPI that work offline are compiled (Harper), unmaintained
(nlprule), download a Java server (LanguageTool) or check only style (proselint).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bgr.data.reasongraphqa.io.fact_records import FactRecord
from bgr.data.reasongraphqa.verbalize.templates import load_templates, value_text
from bgr.data.reasongraphqa.verbalize.verbalizer import STYLES

_HOLE = "\x00"  # replaces a name or value in the rest of a sentence
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")
_TOKEN = re.compile(rf"\$?\d+(?:[.,]\d+)*%?(?!\w)|{_WORD.pattern}|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»')
_CLAUSE_BREAK = re.compile(r"[,;:().]|\b(?:and|which|who)\b")
_LEFTOVER = re.compile(r"[{}]|\(s\)|\ba\(n\)|</?\w+>|\bNone\b")
_SPACING = re.compile(r"\s{2,}| [,.;:)]|\( |,[,.;:]|^\s|\s$")
_ENDING = re.compile(r"""[.!?]["'”’»)\]]*$""")
_BRACKETS = {")": "(", "]": "[", "”": "“", "»": "«"}


class _Token(NamedTuple):
    """A word or punctuation mark; `part` is the number of the name or value that contains it, or ``None``."""

    text: str
    part: int | None

    @property
    def word(self) -> str | None:
        """The word in lower case; ``None`` for a punctuation mark."""
        return self.text.casefold() if _is_word(self.text) else None


@dataclass(frozen=True)
class Parsed:
    """A parsed sentence.

    Args:
        rest: the sentence with a hole for each name and value.
        clauses: the words of each clause, in lower case; only clauses with two or more words outside names and values.
        known: all words, in lower case, that come from a triple: names, values, predicates and their templates.
    """

    record: FactRecord
    tokens: tuple[_Token, ...]
    rest: str
    clauses: tuple[tuple[str, ...], ...]
    known: frozenset[str]


def parse(record: FactRecord) -> Parsed:
    """Separate the names and values of a sentence from its other words."""
    values = [fact.value for fact in record.facts if fact.value is not None]
    values += [value for fact in record.facts for _, value in fact.qualifiers]
    texts = {value_text(value, style) for value in values for style in range(STYLES)}
    parts = sorted(filter(None, {*record.names.values(), *texts}), key=lambda text: (-len(text), text))
    pieces = [(record.sentence, False)]  # the flag is true for names and values
    if parts:
        pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, parts))})(?!\w)", re.IGNORECASE)
        pieces = [(piece, number % 2 == 1) for number, piece in enumerate(pattern.split(record.sentence))]
    tokens = tuple(
        _Token(text, number if inside else None)
        for number, (piece, inside) in enumerate(pieces)
        for text in _TOKEN.findall(piece)
    )
    rest = "".join(_HOLE if inside else piece for piece, inside in pieces)
    known = frozenset(_words(" ".join([*parts, *_template_words(record)])))
    return Parsed(record, tokens, rest, tuple(_clauses(pieces)), known)


def _template_words(record: FactRecord) -> list[str]:
    """Predicates and qualifier keys with the words of their templates (`Oscar` for `Academy Awards`)."""
    templates = load_templates()
    found: list[str] = []
    for fact in record.facts:
        found.append(fact.predicate)
        forms = [text for texts in templates.forms(fact.predicate).values() for text in texts]
        found += [text.replace("(s)", end) for text in forms for end in ("", "s")]
        for key, _ in fact.qualifiers:
            found += [key, *templates.qualifier(key)]
    return found


def _clauses(pieces: Sequence[tuple[str, bool]]) -> list[tuple[str, ...]]:
    clauses: list[list[str]] = [[]]
    own = [0]  # words of each clause outside names and values
    for piece, inside in pieces:
        first, *more = [piece] if inside else _CLAUSE_BREAK.split(piece)
        clauses[-1] += _words(first)
        own[-1] += 0 if inside else len(_words(first))
        clauses += [_words(text) for text in more]
        own += [len(_words(text)) for text in more]
    return [tuple(clause) for clause, count in zip(clauses, own, strict=True) if count > 1]


def _words(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text.casefold()) if _is_word(token)]


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


# -- the checks: each gives the problem, or None -----------------------------------------------------------------------


def repeated_words(parsed: Parsed) -> str | None:
    """A word or phrase that is repeated at once, but not within one name.

    At the edge of a name, case matters: "acted in In & Out" and "The Man Who Never Was was made" are good English.
    """
    tokens = parsed.tokens
    words = [token.word for token in tokens]
    for size in range(len(tokens) // 2, 0, -1):
        for start in range(len(tokens) - 2 * size + 1):
            middle, end = start + size, start + 2 * size
            if (
                words[start:middle] == words[middle:end]
                and None not in words[start:middle]
                and _is_repetition(tokens[start:middle], tokens[middle:end])
            ):
                return " ".join(token.text for token in tokens[start:end])
    return None


def _is_repetition(first: Sequence[_Token], second: Sequence[_Token]) -> bool:
    """True if two equal phrases are a repetition, not part of a name or a coincidence at its edge."""
    if all(token.part is None for token in (*first, *second)):
        return True
    return first[0].part != second[-1].part and [a.text for a in first] == [b.text for b in second]


def repeated_clause(parsed: Parsed) -> str | None:
    """A clause that is repeated as a whole or as the end of another."""
    for n, clause in enumerate(parsed.clauses):
        others = [*parsed.clauses[:n], *(other for other in parsed.clauses[n + 1 :] if other != clause)]
        if any(other[-len(clause) :] == clause for other in others):
            return " ".join(clause)
    return None


def added_number(parsed: Parsed) -> str | None:
    """A number that is in no triple."""
    numbers = {number for word in parsed.known for number in _NUMBER.findall(word)}
    return next((number for number in _NUMBER.findall(parsed.rest) if number not in numbers), None)


def added_name(parsed: Parsed) -> str | None:
    """A capitalized word that is in no triple; the first word of the sentence is ignored."""
    for word in _WORD.finditer(parsed.rest):
        if word.start() > 0 and any(map(str.isupper, word[0])) and not _is_known(word[0], parsed.known):
            return word[0]
    return None


def added_quotation(parsed: Parsed) -> str | None:
    """Words in quotation marks that are in no triple."""
    for match in _QUOTED.finditer(parsed.rest):
        quoted = next(group for group in match.groups() if group is not None)
        if any(not _is_known(word, parsed.known) for word in _words(quoted)):
            return match[0].replace(_HOLE, "…")
    return None


def _is_known(word: str, known: frozenset[str]) -> bool:
    return set(_words(word)) <= known


def wrong_ending(parsed: Parsed) -> str | None:
    """An end without `.`, `!` or `?`, or with two full stops."""
    text = parsed.record.sentence
    # a film may be called "Dil Se.."
    doubled = text.endswith("..") and not text.endswith("...") and parsed.rest.endswith(".")
    return repr(text[-10:]) if doubled or not _ENDING.search(text) else None


def no_capital(parsed: Parsed) -> str | None:
    """A first word in lower case (`eXistenZ` is not)."""
    first = parsed.record.sentence.split(" ", 1)[0]
    return first if first[:1].isalpha() and first.islower() else None


def unbalanced(parsed: Parsed) -> str | None:
    """Brackets or double quotation marks that do not match, outside names and values."""
    opened: list[str] = []
    for mark in parsed.rest:
        if mark in _BRACKETS.values():
            opened.append(mark)
        elif mark in _BRACKETS and (not opened or opened.pop() != _BRACKETS[mark]):
            return mark
    return opened[-1] if opened else '"' if parsed.rest.count('"') % 2 else None


def leftover(parsed: Parsed) -> str | None:
    """Braces, an unfilled `(s)` or `a(n)`, a model's special token, or `None`, outside names and values."""
    match = _LEFTOVER.search(parsed.rest)
    return match[0] if match else None


def wrong_spacing(parsed: Parsed) -> str | None:
    """Two spaces, a space before a comma or a full stop, two commas, outside names and values."""
    match = _SPACING.search(parsed.rest)
    return repr(match[0]) if match else None


Check = Callable[[Parsed], str | None]
FLUENCY: Mapping[str, Check] = {
    "repeated words": repeated_words,
    "repeated clause": repeated_clause,
    "wrong ending": wrong_ending,
    "no capital": no_capital,
    "unbalanced": unbalanced,
    "template left over": leftover,
    "spacing": wrong_spacing,
}
ADDED: Mapping[str, Check] = {
    "added name": added_name,
    "added number": added_number,
    "added quotation": added_quotation,
}
