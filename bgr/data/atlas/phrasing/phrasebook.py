"""The phrasebook: templates of Atlas' questions (the YAML files in this folder), their markup, and values in words.

``[is|are]`` gives a singular and a plural form, ``[came|came|come]`` also the infinitive of a past tense;
``{x}`` is a placeholder; ``a(n)`` becomes ``a`` or ``an``; ``[Oscar]`` alone agrees with the value ``{v}`` beside it.
Values are verbalized in several ways with exactly the same meaning.

Templates are chosen at random: plain ones are likelier, and each choice is recorded (`Wordings`).
"""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from bgr.data.kb.schema import Value
from bgr.errors import DataError

FILES = ("kinds", "relations", "attributes", "qualifiers", "strategies", "values")
OPERATOR_SLOTS = {"=": "equal", ">": "greater", "<": "less"}
_FORMS = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)(?:\|([^\[\]|]*))?\]")
_COUNTED = re.compile(r"\[([^\[\]|]+)\]")
_PLACE = re.compile(r"\{([^{}]+)\}")
_ARTICLE = re.compile(r"\ba\(n\) (\W*)(\w+)")
_AUXILIARIES = {"is", "are", "was", "were", "can", "will"}
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one|once|u\.?s)(?:[aeiou]|8|11\b|18\b|hour|honest)", re.IGNORECASE)
BREVITY = 0.7
"""Weight of a template for each word by which it is longer than the shortest of its table."""
# size, word, and maximum number of characters of the number before the word
_SCALES = ((10**12, "trillion", 5), (10**9, "billion", 4), (10**6, "million", 4))
# not strftime, which depends on the locale
_MONTHS = "January February March April May June July August September October November December".split()

LONG = 45
"""Characters; a phrase of at least this length comes last in its template, if there is such a template."""

LATE = 0.03
"""Weight of a template that goes on after a long phrase."""

ELLIPTIC = 0.05
"""Weight of a question that does not begin with a question word ("{x} lasts how many minutes?")."""

DIRECT = 1.5
"""Weight of a question with one of people's commonest beginnings."""

_COMMON = ("What is the ", "When ", "How many ")
_QUESTION = re.compile(r"((at|by|from|in|on|to|under|with) )?(how|what|when|where|which|who|whom|whose)\b", re.I)


class Phrasebook:
    """All templates, from the parsed content of each of the `FILES`."""

    def __init__(self, files: Mapping[str, Mapping[str, Any]]) -> None:
        self.kinds: Mapping[str, Any] = files["kinds"]["kinds"]
        self.article: Mapping[str, list[str]] = files["kinds"]["article"]
        self.relations: Mapping[str, Any] = files["relations"]
        self.attributes: Mapping[str, Any] = files["attributes"]["attributes"]
        self.generic: Mapping[str, list[str]] = files["attributes"]["generic"]
        self.qualifiers: Mapping[str, Any] = files["qualifiers"]
        self.strategies: Mapping[str, Any] = files["strategies"]
        self.values: Mapping[str, Any] = files["values"]
        self._slots: dict[tuple[str, str], tuple[str, ...]] = {}

    def relation(self, predicate: str, direction: str) -> Mapping[str, Any] | None:
        """The templates of a relation followed in a direction."""
        return self.relations.get(predicate, {}).get(direction)

    def attribute(self, key: str, slot: str) -> tuple[str, ...]:
        """All templates of one slot of an attribute: its own, and the generic ones filled with its names."""
        found = self._slots.get((key, slot))
        if found is None:
            found = self._slots[key, slot] = self._expand(key, slot)
        return found

    def _expand(self, key: str, slot: str) -> tuple[str, ...]:
        entry = self.attributes[key]
        own = tuple(entry.get(slot, ()))
        order = entry.get("order")
        if not entry.get("generic", True) or slot.startswith("ask year") or (entry.get("time") and slot != "ask"):
            return own
        textual = order is None and slot == "equal"
        if order is None and slot not in ("ask", "equal"):
            return own
        words = dict(zip(("more", "most", "less", "least"), order or (), strict=False))
        generic = self.generic["equal text" if textual else slot] if slot in self.generic else ()
        filled = [_fill(template, {"a": noun, **words}) for noun in entry["nouns"] for template in generic]
        # an attribute's own templates together weigh as much as the many generic ones
        return own * max(1, round(len(filled) / max(1, len(own)))) + tuple(filled)


@lru_cache(maxsize=1)
def phrasebook() -> Phrasebook:
    """The phrasings shipped with the package.

    Raises:
        DataError: a file is missing or not valid YAML.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = {}
    for stem in FILES:
        path = Path(__file__).with_name(f"{stem}.yaml")
        try:
            files[stem] = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except (OSError, yaml.YAMLError) as error:
            raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    return Phrasebook(files)


# -- markup -----------------------------------------------------------------------------------------------------------


def agree(template: str, plural: bool = False) -> str:
    """Choose the singular or plural form of each bracket; placeholders are kept."""
    return _FORMS.sub(lambda m: m.group(2) if plural else m.group(1), template)


def fill(template: str, words: Mapping[str, str]) -> str:
    """Fill in the words, all at once, so that braces inside a name are safe; then the articles and counted nouns."""
    one = words.get("v") == "1" and not re.search(r"(than|over|under) \{v\}", template)
    template = _COUNTED.sub(lambda m: m.group(1) if one else m.group(1) + "s", template)
    return fill_articles(_fill(template, words))


def _fill(template: str, words: Mapping[str, str]) -> str:
    """Replace the placeholders whose words are given."""
    return _PLACE.sub(lambda m: words.get(m.group(1), m.group(0)), template)


def fill_articles(text: str) -> str:
    """Replace each ``a(n)`` by ``a`` or ``an``, according to the sound of the next word."""
    return _ARTICLE.sub(lambda m: f"{indefinite(m.group(2))} {m.group(1)}{m.group(2)}", text)


def indefinite(following: str) -> str:
    """``a`` or ``an`` before a word."""
    return "an" if _VOWEL_SOUND.match(following) else "a"


def invert(template: str, subject: str = "{subject}") -> str:
    """A verb phrase as a yes/no question about one subject: ``[runs|run] on`` → ``Does {subject} run on``.

    The phrase starts with its bracket. Three forms mean a past tense (``Did``); an auxiliary moves to the front.
    """
    match = _FORMS.match(template)
    if match is None:
        raise ValueError(f"a verb phrase starts with its [singular|plural] forms: {template!r}")
    singular, plural, infinitive = match.groups()
    rest = agree(template[match.end() :])
    first, _, tail = singular.partition(" ")
    if first in _AUXILIARIES:
        return f"{first.capitalize()} {subject}{' ' + tail if tail else ''}{rest}"
    if infinitive:
        return f"Did {subject} {infinitive}{rest}"
    # the plural form serves as the infinitive, with a possessive that fits one subject
    base = re.sub(r"\btheir\b", "its", plural)
    return f"Does {subject} {base}{rest}"


def trailing(template: str, place: str) -> int:
    """Number of words after a placeholder; 0 if it ends the template (or is missing)."""
    return len(re.findall(r"\w+", template.partition("{" + place + "}")[2]))


def brevity(templates: Sequence[str]) -> list[float]:
    """Weights of templates for a random choice: shorter ones are likelier."""
    lengths = [_words(template) for template in templates]
    return [BREVITY ** (length - min(lengths)) for length in lengths]


def brief(rng: random.Random, templates: Sequence[str]) -> str:
    """A random template; shorter ones are likelier."""
    return rng.choices(templates, brevity(templates))[0]


@cache
def _words(template: str) -> int:
    """Number of words of the singular form."""
    return len(agree(template).split())


def sentence(text: str) -> str:
    """The text as a sentence: first letter in upper case, single spaces, none before punctuation marks."""
    text = " ".join(text.split()).replace(" ,", ",").replace(" ?", "?")
    text = re.sub(r" \.$", ".", text)  # only at the end, because ".bh" is a name
    return text[:1].upper() + text[1:]


# -- values -----------------------------------------------------------------------------------------------------------


def number_text(value: float | int, rng: random.Random) -> str:
    """``1250000`` as ``1,250,000`` or ``1.25 million``, the latter only if it is exact and short."""
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    whole = int(value)
    for size, word, length in _SCALES:
        short = f"{whole / size:g}"
        fits = size <= whole < 1000 * size and len(short) <= length and round(float(short) * size) == whole
        if fits and rng.random() < 0.7:
            return f"{short} {word}"
    return f"{whole:,}" if whole >= 10_000 or rng.random() < 0.5 else str(whole)


def quantity_text(book: Phrasebook, key: str, value: Value, rng: random.Random) -> str:
    """A quantity with its unit; a duration of whole hours may be given in hours."""
    assert isinstance(value.value, int | float)
    if value.unit == "minute" and value.value % 60 == 0 and rng.random() < 0.3:
        hours = int(value.value // 60)
        return f"{hours} hour{'s' if hours > 1 else ''}"
    number = number_text(value.value, rng)
    if value.unit == "1":
        patterns = book.values["unitless"].get(key, ["{n}"])
    else:
        patterns = book.values["units"].get(value.unit, ["{n} " + value.unit])
    return brief(rng, patterns).replace("{n}", number)


def date_text(book: Phrasebook, date: datetime.date, rng: random.Random) -> str:
    """A date, in words or in ISO form."""
    words = {
        "day": str(date.day),
        "day_th": f"{date.day}{_ordinal(date.day)}",
        "month": _MONTHS[date.month - 1],
        "year": str(date.year),
        "iso": date.isoformat(),
    }
    return _fill(brief(rng, book.values["dates"]["formats"]), words)


def value_text(book: Phrasebook, key: str, value: Value, op: str, rng: random.Random) -> str:
    """Any value as it is written in an attribute's template; times have their preposition: ``before 5 May 1963``."""
    if value.type == "quantity":
        return quantity_text(book, key, value, rng)
    if value.type == "string":
        return str(value)
    slot = OPERATOR_SLOTS[op]
    if isinstance(value.value, datetime.date):
        return brief(rng, book.values["dates"][slot]).replace("{d}", date_text(book, value.value, rng))
    return brief(rng, book.values["years"][slot]).replace("{y}", str(value.value))


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


class Wordings:
    """Chooses templates and records them. All random choices come from `rng`.

    ``used`` has the chosen templates in order, without repetition, each with its table:
    ``relations/director/forward/vp: [made|made|make] {x}``.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.used: dict[str, None] = {}

    def short(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A template; shorter ones are likelier.

        Args:
            words: placeholders with the texts that will fill them. A long text mostly comes last.
        """
        return self._pick(table, templates, brevity(templates), words)

    def ask(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A whole question; those that begin with a question word are likelier."""
        return self._pick(table, templates, [_directness(template) for template in templates], words)

    def plain(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A template of a list that begins with the plainest: the n-th has the weight n^-1.5."""
        return self._pick(table, templates, [n**-1.5 for n in range(1, len(templates) + 1)], words)

    def _pick(self, table: str, templates: Sequence[str], weights: list[float], words: dict[str, str]) -> str:
        for place, text in words.items():
            if len(text) >= LONG:
                weights = [w * LATE if trailing(t, place) else w for t, w in zip(templates, weights, strict=True)]
        chosen = self.rng.choices(templates, weights)[0]
        self.used[f"{table}: {chosen}"] = None
        return chosen


@cache
def _directness(template: str) -> float:
    if template.startswith(_COMMON):
        return DIRECT
    return 1.0 if _QUESTION.match(template) else ELLIPTIC
