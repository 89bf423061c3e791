"""Questions without an answer, from which a model learns to see that there is none.

There are three kinds. `ask_other` asks for what the data never state, who the mother of a director is or what a metal
costs, although there are facts about the director and the metal. `ForeignWords` replaces a word by one that the data
never use, so that no fact is about it. `withheld` leaves out a fact that is needed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.spelling import SMALL_WORDS

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


MIN_LETTERS = 4
"""Minimum letters of a word that is replaced, and of one that replaces it."""

ENOUGH = 20
"""Number of words with the same two last letters from which one of them is taken, so that a verb mostly becomes a verb
of the same form."""


class ForeignWords:
    """The whole words of a tokenizer's vocabulary that no text of the data has, without function words."""

    def __init__(self, vocabulary: Iterable[str], texts: Iterable[str]) -> None:
        used = {word for text in texts for word in text.lower().split()}
        used |= {word.strip(".,;:?!()\"'") for word in used}
        self.words = sorted(word for word in vocabulary if _is_content(word) and word not in used)
        self.by_ending: dict[str, list[str]] = {}
        for word in self.words:
            self.by_ending.setdefault(word[-2:], []).append(word)

    def question(self, question: str, draw: random.Random) -> str | None:
        """The question with a foreign word in place of one of its own; ``None`` if it has none to replace.

        Names and numbers are spared, since a question about another name is what distractors are for.
        """
        parts = question.split(" ")
        places = [place for place, word in enumerate(parts) if place and _is_content(word.rstrip("?,."))]
        if not places or not self.words:
            return None
        place = draw.choice(places)
        bare = parts[place].rstrip("?,.")
        alike = self.by_ending.get(bare[-2:], [])
        parts[place] = draw.choice(alike if len(alike) >= ENOUGH else self.words) + parts[place][len(bare) :]
        return " ".join(parts)


def about_something_else(example: Example, questions: Mapping[str, str]) -> Example | None:
    """The example with the foreign question of its own question: nothing among its candidates answers it."""
    question = questions.get(example.question) if example.answerable else None
    return None if question is None else replace(example, question=question, graph=EvidenceGraph(()), missing="all")


def _is_content(word: str) -> bool:
    known = word in ENGLISH_STOP_WORDS or word in SMALL_WORDS
    return len(word) >= MIN_LETTERS and word.isascii() and word.isalpha() and word.islower() and not known


PARTIAL = frozenset({"Or", "Count", "SelectAmong"})
"""Functions of KoPL that give an answer from a part of their evidence, though another one."""


def can_withhold(example: Example) -> bool:
    """Whether every gold fact is needed for any answer: the program is known and has no function of `PARTIAL`."""
    functions = {step["function"] for step in example.program}
    return example.answerable and bool(functions) and not functions & PARTIAL


def withheld(example: Example, draw: random.Random) -> Example:
    """The same question without one of its gold facts: nothing among its candidates answers it."""
    gold = example.graph.nodes
    fact = draw.choice(gold)
    facts = example.facts[:fact] + example.facts[fact + 1 :]
    return replace(example, facts=facts, graph=EvidenceGraph(()), missing="one" if len(gold) > 1 else "all")
