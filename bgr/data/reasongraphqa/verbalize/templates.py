"""Templates of facts (templates.yaml, templates_wikidata.yaml), and verbalization of values.

Predicates without templates, of which KQA Pro has over a thousand, get default templates from the form of their name.
Dates are written in words or in ISO form, numbers with thousands separators, units in the plural.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from bgr.data.kb.schema import Value
from bgr.utils.quantities import MONTHS

Forms = Mapping[str, Sequence[str]]
FORMS = ("verb", "noun", "front", "sentence")

# "educated at", "named after", "influenced by": a participle with its preposition
_PARTICIPLE = re.compile(
    r"(\w+(ed|wn|en)|made|found|built|set|held|won|said to be) .*\b(by|at|in|for|from|after|on|to|with|as|of|against)$"
    r"|located .+"
)
# "part of", "member of", "student of": a noun with its preposition
_NOUN_OF = re.compile(r".+ (of|to|in|for)$")
# "shares border with", "uses", "replaces": a verb in the third person, distinguished from a plural noun by this list
_VERBS = re.compile(r"(applies|connects|contains|crosses|depicts|follows|has|operates|owns|replaces|shares|uses)\b")
_NUMBER_OF = re.compile(r"(number|count|amount) of (.+)$")
_CODE = re.compile(r".*\b(ID|id|code|identifier|number|symbol|index|ISBN|ISNI)$")
_TIME_OF = re.compile(r"(date|time|year) of (.+)$")


def default_forms(predicate: str) -> Forms:
    """At least three templates in the form of ``templates.yaml``, correct for any predicate.

    They contain the name itself and assume only its grammar, not its meaning.
    """
    name = predicate.replace("{", "(").replace("}", ")")
    front: Sequence[str] = ()
    is_value = f"The {name} of {{head}} is {{value}}."
    if match := _NUMBER_OF.match(name):
        counted = match[2]
        verb = [f"has {{value}} {counted}", f"has a {name} of {{value}}"]
        sentence = [is_value, f"In all, {{head}} has {{value}} {counted}."]
        front = [f"with {{value}} {counted}"]
    elif _TIME_OF.match(name):
        verb = [f"has its {name} at {{value}}", f"has {{value}} as {name}"]
        sentence = [is_value, f"For {{head}}, the {name} is {{value}}."]
    elif _CODE.match(name):
        verb = [f"has the {name} {{value}}", f"carries the {name} {{value}}"]
        sentence = [is_value, f"{{head}} is listed under the {name} {{value}}."]
    elif _PARTICIPLE.match(name):
        verb = [f"was {name} {{value}}", f"is {name} {{value}}"]
        sentence = [f"{{value}} is what {{head}} was {name}.", f"It is recorded that {{head}} was {name} {{value}}."]
        front = [f"{name} {{value}}"]
    elif _VERBS.match(name):
        verb = [f"{name} {{value}}"]
        sentence = [f"It is known that {{head}} {name} {{value}}.", f"{{value}} is what {{head}} {name}."]
    elif _NOUN_OF.match(name):
        noun = with_article(name)
        verb = [f"is {noun} {{value}}", f"counts as {noun} {{value}}"]
        sentence = [f"{{value}} is what {{head}} is {noun}.", f"It is recorded that {{head}} is {noun} {{value}}."]
        front = [f"as {noun} {{value}}"]
    else:
        verb = [f"has {{value}} as {name}", f"lists {{value}} as {name}"]
        sentence = [is_value, f"{{value}} is the {name} of {{head}}."]
        front = [f"with {{value}} as {name}"]
    return {"verb": verb, "noun": (), "front": front, "sentence": sentence}


@dataclass(frozen=True)
class Templates:
    """Templates by predicate and by qualifier key.

    Args:
        predicates: attribute key or relation to its `Forms`.
        qualifiers: qualifier key to the phrases that may follow.
        at_value: qualifier keys whose phrase follows the value instead of the whole phrase.
        kinds: concept names that may denote a member ("a city in France"); the first that fits is taken.
        persons: concept names whose members take "who".
        article_kinds, article_names: concepts and name pattern of entities that take "the".
    """

    predicates: Mapping[str, Forms]
    qualifiers: Mapping[str, Sequence[str]]
    at_value: frozenset[str]
    kinds: tuple[str, ...]
    persons: frozenset[str]
    article_kinds: frozenset[str]
    article_names: re.Pattern[str]

    def forms(self, predicate: str) -> Forms:
        """The templates of a predicate: its own, or the default for the form of its name."""
        return self.predicates.get(predicate) or default_forms(predicate)

    def qualifier(self, key: str) -> Sequence[str]:
        """The templates of a qualifier: its own, or default ones."""
        name = key.replace("{", "(").replace("}", ")")
        return self.qualifiers.get(key) or (f" ({name}: {{value}})", f" with {{value}} as {name}")


@cache
def load_templates() -> Templates:
    """The templates shipped with the library; Atlas' take precedence over those for Wikidata."""
    main, more = (
        yaml.safe_load(files("bgr.data.reasongraphqa.verbalize").joinpath(name).read_text(encoding="utf-8"))
        for name in ("templates.yaml", "templates_wikidata.yaml")
    )
    return Templates(
        predicates={
            name: {form: tuple(texts.get(form, ())) for form in FORMS}
            for name, texts in {**more, **main["predicates"]}.items()
        },
        qualifiers={key: tuple(phrases) for key, phrases in main["qualifiers"].items()},
        at_value=frozenset(main["at_value"]),
        kinds=tuple(main["kinds"]),
        persons=frozenset(main["persons"]),
        article_kinds=frozenset(main["article_kinds"]),
        article_names=re.compile(main["article_names"]),
    )


# -- values -----------------------------------------------------------------------------------------------------------

# written after the number without a space, or before it
SYMBOLS = {"percent": ("", "%"), "United States dollar": ("$", ""), "square kilometre": ("", " km²")}
IRREGULAR = {"foot": "feet", "inch": "inches"} | {unit: unit for unit in ("hertz", "lux", "siemens", "percent")}


def value_text(value: Value, style: int = 0) -> str:
    """A value as it is written in a sentence, never rounded; `style` (any integer) selects one of its forms."""
    if isinstance(value.value, datetime.date):
        date, month = value.value, MONTHS[value.value.month - 1].capitalize()
        return (f"{date.day} {month} {date.year}", f"{month} {date.day}, {date.year}", date.isoformat())[style % 3]
    if value.type == "quantity" and isinstance(value.value, int | float):
        return quantity_text(value.value, value.unit, symbol=style % 2 == 1)
    if value.type == "year" and isinstance(value.value, int) and value.value < 0:
        return f"{-value.value} BC"
    return str(value.value)


def when_text(value: Value, style: int = 0) -> str:
    """A date or year with its preposition: `in 1957`, `on 16 February 1957`."""
    return f"{'on' if value.type == 'date' else 'in'} {value_text(value, style)}"


def number_text(number: float | int) -> str:
    """A number with all digits and thousands separators."""
    if isinstance(number, int) or number.is_integer():
        return f"{int(number):,}"
    text = f"{number:,.10f}".rstrip("0")
    # numbers that ten decimals do not represent are written in Python's shortest form
    return text if float(text.replace(",", "")) == number else repr(number)


def quantity_text(number: float | int, unit: str, *, symbol: bool = False) -> str:
    """A quantity with its unit, `96 minutes`, `$1,234,567` or `87%`; the unit `1` is not written."""
    digits = number_text(number)
    if unit == "1":
        return digits
    if symbol and unit in SYMBOLS:
        before, after = SYMBOLS[unit]
        return f"{before}{digits}{after}"
    return f"{digits} {unit if number == 1 else plural_unit(unit)}"


def plural_unit(unit: str) -> str:
    """The plural of a unit: `grams per cubic centimetre`, `degrees Celsius`."""
    head, per, rest = unit.partition(" per ")
    if head.startswith("degree "):
        return f"degrees {head.removeprefix('degree ')}{per}{rest}"
    *before, last = head.split(" ")
    regular = f"{last}s" if last.isalpha() and not last.endswith("s") else last
    return " ".join([*before, IRREGULAR.get(last, regular)]) + per + rest


_VOWEL_SOUND = re.compile(
    r"(?!uni|us\b|uk\b|uga|ukr|uru|uto|euro|ewe|one\b|once)([aeiou]|8|1[18](?!\d)|hour|heir|honest|[fhlmnrsx]\b)", re.I
)


def with_article(text: str) -> str:
    """The text after `a` or `an`, according to the sound of its first letters."""
    return f"{'an' if _VOWEL_SOUND.match(text) else 'a'} {text}"
