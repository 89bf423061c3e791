"""Questions about what the data never state: who the mother of a director is, what a metal costs. Nothing answers them,
although there are facts about the director and the metal."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable

PATTERNS = Path(__file__).with_name("other_questions.json")
"""By kind of thing, questions with ``{}`` in place of its name."""

KINDS: Mapping[str, tuple[str | None, str | None]] = {
    "director": ("film", "person"),
    "cast member": ("film", "person"),
    "screenwriter": ("film", "person"),
    "production company": ("film", "company"),
    "country of origin": ("film", "country"),
    "original language": ("film", "language"),
    "genre": ("film", None),
    "release date": ("film", None),
    "runtime": ("film", None),
    "box office": ("film", None),
    "review score": ("film", None),
    "country": (None, "country"),
    "capital": ("country", "city"),
    "currency": ("country", None),
    "continent": ("country", None),
    "official language": ("country", "language"),
    "shares border with": ("country", "country"),
    "language used": ("country", "language"),
    "time zone": ("city", None),
    "located in administrative region": ("city", None),
    "place served": ("airport", "city"),
    "elevation": ("airport", None),
    "IATA code": ("airport", None),
    "ICAO code": ("airport", None),
    "contains element": ("compound", "element"),
    "molar mass": ("compound", None),
    "CAS number": ("compound", None),
    "chemical formula": ("compound", None),
    "atomic number": ("element", None),
    "chemical symbol": ("element", None),
    "discoverer": ("element", "person"),
    "language family": ("language", None),
    "language type": ("language", None),
    "writing system": ("language", None),
    "ISO 639-3 code": ("language", None),
}
"""The kinds of head and tail of a statement of Atlas, by its predicate; ``None`` where it does not tell."""

INDIRECT = {
    "director": "the director of {}",
    "screenwriter": "the writer of {}",
    "production company": "the company that produced {}",
    "country": "the country of {}",
    "capital": "the capital of {}",
    "original language": "the language of {}",
    "discoverer": "the discoverer of {}",
}
"""How the tail of a statement is also named, by its head."""

INDIRECT_SHARE = 0.25


@cache
def _patterns() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(PATTERNS.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class OtherQuestion:
    """A question about something in a candidate, the number `fact`, which neither it nor another fact answers."""

    question: str
    fact: int


def ask_other(example: Example, table: FactTable) -> OtherQuestion | None:
    """Such a question about one of the gold facts, the same at each call; ``None`` if it is not known what kind of
    thing they are about.

    Raises:
        DataError: a gold fact is not in the textual database.
    """
    draw = random.Random(f"other {example.id}")
    fact = draw.choice(example.graph.nodes)
    stated = [one for unit in table.units(example, fact) for one in unit.facts]
    question = other_question(stated, table.names, draw)
    return None if question is None else OtherQuestion(question, fact)


def other_question(facts: Sequence[Fact], names: Mapping[str, str], draw: random.Random) -> str | None:
    """A question about something in a sentence that states these facts, which neither it nor another sentence of Atlas
    answers; ``None`` if it is not known what kind of thing it is about."""
    found = []
    for fact in facts:
        head, tail = KINDS.get(fact.predicate, (None, None))
        if head and fact.head in names:
            found.append((head, names[fact.head]))
        if tail and fact.tail is not None and fact.tail in names:
            indirect = INDIRECT.get(fact.predicate)
            if indirect and fact.head in names and draw.random() < INDIRECT_SHARE:
                found.append((tail, indirect.format(names[fact.head])))
            else:
                found.append((tail, names[fact.tail]))
    if not found:
        return None
    kind, name = draw.choice(found)
    return draw.choice(_patterns()[kind]).format(name)
