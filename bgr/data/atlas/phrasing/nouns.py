"""Noun phrases for descriptions of entities, nested like them ("the film by the maker of Persona")."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bgr.data.atlas.phrasing.phrasebook import (
    OPERATOR_SLOTS,
    Phrasebook,
    agree,
    fill,
    indefinite,
    invert,
    quantity_text,
    trailing,
    value_text,
)
from bgr.data.atlas.question_tree import Condition, Description, Link
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import NO_UNIT

_RELATIVE = re.compile(r"\b(that|which|who|whom|whose|where)\b")
LONG = 45
"""Characters; a phrase of at least this length comes last in its template, if there is such a template."""


@dataclass(frozen=True)
class Piece:
    """One modifier of a noun.

    Args:
        shape: ``vp`` (a verb phrase), ``post`` (after the noun), ``pre`` (before it) or ``noun`` (instead of it).
        template: template with brackets and placeholders.
        words: texts of the placeholders.
        heavy: true if the words contain a description, to which a text that follows could seem to belong.
    """

    shape: str
    template: str
    words: Mapping[str, str] = field(default_factory=dict)
    heavy: bool = False

    @property
    def relative(self) -> bool:
        """True if it ends in a relative clause but is not a verb phrase ("that {x} made", "country that {x} is in")."""
        return self.shape in ("post", "noun") and _RELATIVE.search(self.template) is not None

    def text(self, plural: bool = False) -> str:
        return fill(agree(self.template, plural), self.words)

    def question(self, subject: str) -> str:
        """A verb phrase as a yes/no question, without its question mark."""
        return fill(invert(self.template), {**self.words, "subject": subject})


class NounPhrases:
    """Verbalizes descriptions. All random choices come from `rng`."""

    def __init__(self, book: Phrasebook, rng: random.Random) -> None:
        self.book = book
        self.rng = rng

    # -- whole phrases ------------------------------------------------------------------------------------------------

    def phrase(self, description: Description) -> str:
        """A description with its article: a name, "the film that …", or "a film that …" if there are several."""
        if description.name is not None:
            return self.name(description.kind, description.name)
        if description.single:
            return "the " + self.bare(description)
        if self.rng.random() < 0.3:
            return "one of the " + self.bare(description, plural=True)
        bare = self.bare(description)
        return f"{indefinite(bare)} {bare}"

    def bare(self, description: Description, *, plural: bool = False) -> str:
        """The noun and its modifiers without an article."""
        return self.assemble(description, self.pieces(description), plural=plural)

    def assemble(self, description: Description, pieces: list[Piece], *, plural: bool = False) -> str:
        """The noun with the given pieces: before it, after it, then clauses; heavy pieces last."""
        noun = next((p for p in pieces if p.shape == "noun"), None)
        head = noun.text(plural) if noun else agree(self.head(description), plural)
        also = noun is not None and not noun.heavy and not noun.relative
        pre = [p.text(plural) for p in pieces if p.shape == "pre"]
        post = sorted((p for p in pieces if p.shape == "post"), key=lambda p: p.heavy)
        clauses = sorted((p for p in pieces if p.shape == "vp"), key=lambda p: p.heavy)
        text = " ".join([*pre, head, *(p.text(plural) for p in post)])
        if clauses:
            # a clause after another clause must not seem to belong to the last noun of that one
            text += " and" if any(p.relative for p in pieces) else ""
            text += f" {self.pronoun(description)} {self.predicate(description, clauses, plural=plural, also=also)}"
        return text

    def predicate(
        self, description: Description, clauses: list[Piece], *, plural: bool = False, also: bool = False
    ) -> str:
        """Verb phrases joined to one; the alternatives of an Or stay together after the others."""
        texts = [p.text(plural) for p in clauses]
        if also and self.rng.random() < 0.7 and not re.match(r"(is|are|was|were|has|have|can) ", texts[0]):
            texts[0] = "also " + texts[0]
        if description.join == "Or" and len(description.links) > 1:
            links = [p for p in clauses if p.words.get("link")]
            others = [p.text(plural) for p in clauses if not p.words.get("link")]
            either = self.rng.choice(("either ", "")) if not others else "either "
            return " and ".join([*others, either + " or ".join(p.text(plural) for p in links)])
        if len(texts) > 2:
            return ", ".join(texts[:-1]) + " and " + texts[-1]
        heavy = len(clauses) > 1 and clauses[0].heavy
        return (", and " if heavy else self.rng.choice((" and ", " and ", " and also "))).join(texts)

    def name(self, kind: str, name: str) -> str:
        """A name as it may be written in a sentence, with the article that some names take."""
        pattern: str = self.rng.choice(self.book.kinds[kind]["named"])
        if pattern.split()[-1] == name.split()[-1].lower():
            pattern = "{name}"  # not "the American Sign Language language"
        return pattern.replace("{name}", self._with_article(name) if pattern == "{name}" else name)

    def head(self, description: Description) -> str:
        """The noun, with brackets for singular and plural."""
        if not self.plain(description):
            return f"[{description.concept}|{description.concept}s]"
        word: str = self.rng.choice(self.book.kinds[description.kind]["heads"])
        return word

    def plain(self, description: Description) -> bool:
        """True if the description has no narrower concept than its kind."""
        return description.concept in (None, self.book.kinds[description.kind]["concept"])

    def pronoun(self, description: Description) -> str:
        word: str = self.book.kinds[description.kind]["pronoun"]
        return "which" if word == "that" and self.rng.random() < 0.25 else word

    # -- pieces -------------------------------------------------------------------------------------------------------

    def pieces(self, description: Description, *, verbs: int = 0, nouns: bool = True) -> list[Piece]:
        """The parts of a description, each in a shape that fits the others.

        Args:
            verbs: minimum number of parts, counted from the last, that become verb phrases.
            nouns: allow to replace the noun itself ("the maker of {x}").
        """
        parts: list[Link | Condition] = [*description.links, *description.conditions]
        alternatives = description.join == "Or" and len(description.links) > 1
        bases = {id(link): self.phrase(link.base) for link in description.links}
        heavy = [isinstance(p, Link) and p.base.name is None for p in parts]
        # a heavy part comes last, so that it may be the one that becomes the verb phrase
        order = sorted(range(len(parts)), key=lambda n: heavy[n])
        made: dict[int, Piece] = {}
        for rank, n in enumerate(order):
            part = parts[n]
            must = rank >= len(parts) - verbs or (alternatives and isinstance(part, Link))
            crowded = len(parts) > 1 and heavy[n]
            shapes = ["vp"] if must else ["vp", "post", "post", "pre"]
            if (
                nouns
                and isinstance(part, Link)
                and not must
                and self.plain(description)
                and not crowded
                and not alternatives
            ):
                shapes += ["noun"] * (4 if len(parts) == 1 else 2)
            if any(p.shape in ("noun", "pre") for p in made.values()):
                shapes = [s for s in shapes if s not in ("noun", "pre")]
            if any(p.shape == "vp" for p in made.values()) or (crowded and rank < len(order) - verbs):
                shapes = ["vp"]
            if any(p.shape in ("noun", "post") for p in made.values()):
                # "the writer of {x} at the helm of {y}": the second phrase would seem to belong to {x}
                shapes = [s for s in shapes if s not in ("noun", "post")]
            made[n] = self.piece(description, part, shapes, bases)
        return [made[n] for n in order]

    def piece(
        self, description: Description, part: Link | Condition, shapes: list[str], bases: Mapping[int, str]
    ) -> Piece:
        """A link or condition in the first of the shapes, in random order, for which there is a template."""
        order = self.rng.sample(shapes, len(shapes))
        for shape in [*order, "vp"]:
            found = self._link(part, shape, bases[id(part)]) if isinstance(part, Link) else self.condition(part, shape)
            if found is not None:
                return found
        raise AssertionError("every part has a verb phrase")

    def _link(self, link: Link, shape: str, base: str) -> Piece | None:
        wordings = self.book.relations[link.predicate][link.direction].get(shape)
        if not wordings or (link.qualifier and shape == "noun"):
            return None
        template = self.choose(wordings, "x", base)
        words = {"x": base, "link": "1"}
        if link.qualifier:
            key, op, value = link.qualifier
            suffix = self.rng.choice(self.book.qualifiers["conditions"][key]["suffix"])
            time = value_text(self.book, key, value, op, self.rng)
            template, words = f"{template} {suffix}", {**words, "q": str(value), "time": time}
        return Piece(shape, template, words, heavy=link.base.name is None)

    def condition(self, condition: Condition, shape: str) -> Piece | None:
        """A filter as a verb phrase, or before the noun ("90-minute") if that means exactly the same."""
        entry = self.book.attributes[condition.key]
        value = condition.value
        if shape == "pre":
            fits = condition.op == "=" and condition.qualifier is None and entry.get("pre") and value.type != "date"
            if not fits:
                return None
            year = str(year_of(value)) if value.type == "year" else ""
            number = f"{value.value:g}" if isinstance(value.value, int | float) else ""
            return Piece("pre", self.rng.choice(entry["pre"]), {"v": str(value), "year": year, "number": number})
        if shape != "vp":
            return None
        return self.verb_phrase(condition)

    def verb_phrase(self, condition: Condition) -> Piece:
        """A comparison of an attribute as a verb phrase."""
        key, value = condition.key, condition.value
        template = self.rng.choice(self.book.attribute(key, OPERATOR_SLOTS[condition.op]))
        text = value_text(self.book, key, value, condition.op, self.rng)
        if (
            isinstance(value.value, int | float)
            and value.value >= 10_000
            and (value.type, value.unit) == ("quantity", NO_UNIT)
        ):
            text = quantity_text(self.book, key, value, self.rng)  # a second draw, which equal seeds depend on
        words = {"v": text}
        if condition.qualifier:
            suffix = self.rng.choice(self.book.qualifiers["conditions"][condition.qualifier[0]]["suffix"])
            template, words = f"{template} {suffix}", {**words, "q": str(condition.qualifier[1])}
        return Piece("vp", template, words)

    def choose(self, templates: Sequence[str], place: str, text: str) -> str:
        """A random template in which `text` fills the given placeholder; a long text mostly comes last."""
        if len(text) < LONG:
            return self.rng.choice(templates)
        weights = [0.1 if trailing(t, place) else 1.0 for t in templates]
        return self.rng.choices(templates, weights)[0]

    def _with_article(self, name: str) -> str:
        article = self.book.article
        return f"the {name}" if name in article["names"] or name.split()[-1] in article["endings"] else name
