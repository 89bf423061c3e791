"""The small markup of the phrasing files: number brackets, placeholders, the indefinite article, inversion.

``[is|are]`` gives a singular and a plural form, ``[came|came|come]`` also the infinitive of a past tense;
``{x}`` is a placeholder; ``a(n)`` becomes ``a`` or ``an``; ``[Oscar]`` alone agrees with the value ``{v}`` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FORMS = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)(?:\|([^\[\]|]*))?\]")
_COUNTED = re.compile(r"\[([^\[\]|]+)\]")
_PLACE = re.compile(r"\{([^{}]+)\}")
_ARTICLE = re.compile(r"\ba\(n\) (\W*)(\w+)")
_AUXILIARIES = {"is", "are", "was", "were", "can", "will"}
_VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one|once|u\.?s)(?:[aeiou]|8|11\b|18\b|hour|honest)", re.IGNORECASE)


def placeholders(template: str) -> list[str]:
    """The names in braces, in order."""
    return _PLACE.findall(template)


def agree(template: str, plural: bool = False) -> str:
    """Choose the singular or plural form of each bracket; placeholders stay."""
    return _FORMS.sub(lambda m: m.group(2) if plural else m.group(1), template)


def fill(template: str, words: Mapping[str, str]) -> str:
    """Put in the words, all at once, so that braces inside a name are safe; then settle ``a(n)`` and counted nouns."""
    one = words.get("v") == "1" and not re.search(r"(than|over|under) \{v\}", template)
    template = _COUNTED.sub(lambda m: m.group(1) if one else m.group(1) + "s", template)
    return settle_articles(_PLACE.sub(lambda m: words.get(m.group(1), m.group(0)), template))


def settle_articles(text: str) -> str:
    """Turn each ``a(n)`` into ``a`` or ``an`` by the sound of the next word."""
    return _ARTICLE.sub(lambda m: f"{indefinite(m.group(2))} {m.group(1)}{m.group(2)}", text)


def indefinite(following: str) -> str:
    """``a`` or ``an`` before a word."""
    return "an" if _VOWEL_SOUND.match(following) else "a"


def invert(template: str, subject: str = "{subject}") -> str:
    """A verb phrase as a yes/no question about one subject: ``[runs|run] on`` → ``Does {subject} run on``.

    The phrase starts with its bracket; three forms are a past tense (``Did``), an auxiliary moves to the front.
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
    return f"Does {subject} {_singular_owner(plural)}{rest}"


def _singular_owner(infinitive: str) -> str:
    """The plural form stands for the infinitive; its possessive must still fit one subject."""
    return re.sub(r"\btheir\b", "its", infinitive)


def trailing(template: str, place: str) -> int:
    """How many words stand after a placeholder; 0 where it ends the template (or is missing)."""
    return len(re.findall(r"\w+", template.partition("{" + place + "}")[2]))


def sentence(text: str) -> str:
    """First letter large, blanks single, one mark at the end."""
    text = " ".join(text.split()).replace(" ,", ",").replace(" ?", "?")
    text = re.sub(r" \.$", ".", text)  # at the end alone: ".bh" is a name
    return text[:1].upper() + text[1:]
