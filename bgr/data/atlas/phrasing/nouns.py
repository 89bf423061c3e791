"""Noun phrases for descriptions of entities, nested like them ("the film by the maker of Persona")."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bgr.data.atlas.phrasing.phrasebook import (
    OPERATOR_SLOTS,
    Phrasebook,
    Wordings,
    agree,
    brief,
    fill,
    indefinite,
    invert,
    trailing,
    value_text,
)
from bgr.data.atlas.question_tree import Condition, Description, Link
from bgr.data.kb.comparison import year_of

_RELATIVE = re.compile(r"\b(that|which|who|whom|whose|where)\b")
# "has a length of 90 minutes" may become "with a length of 90 minutes", but "has boiled" may not
_HAS = re.compile(r"\[has\|have\] (?=(a\(n\)|an?|the|\{v\}|over|under|(more|less|fewer) than) )")
_JOINING = re.compile(r"\b(and|or)\b|&|,", re.I)
SHAPES = {"vp": 0.5, "post": 4.0, "pre": 6.0, "noun": 6.0}
"""Weights of the shapes; a verb phrase makes a relative clause, which is the longest."""
PLAIN_NAME = 0.9
"""Share of the names without apposition ("the film Persona")."""
WITH_KINDS = ("film", "element", "compound", "airport")
"""Kinds whose attributes no kind outside this list has, so that "the film by {x} with a length of 90 minutes" has one
meaning; "the element in {x} with a density of 3 g/cm³" has two."""


@dataclass(frozen=True)
class Piece:
    """One modifier of a noun.

    Args:
        shape: ``vp`` (a verb phrase), ``post`` (after the noun), ``pre`` (before it) or ``noun`` (instead of it).
        template: template with brackets and placeholders.
        words: texts of the placeholders.
        heavy: true if the words contain a description, to which a text that follows could seem to belong.
        link: true if it states a link, not a condition.
    """

    shape: str
    template: str
    words: Mapping[str, str] = field(default_factory=dict)
    heavy: bool = False
    link: bool = False

    @property
    def relative(self) -> bool:
        """True if it ends in a relative clause but is not a verb phrase ("that {x} made", "country that {x} is in")."""
        return self.shape in ("post", "noun") and _RELATIVE.search(self.template) is not None

    def text(self, plural: bool = False) -> str:
        return fill(agree(self.template, plural), self.words)

    def question(self, subject: str) -> str:
        """A verb phrase as a yes/no question, without its question mark."""
        return fill(invert(self.template), {**self.words, "subject": subject})


@dataclass(frozen=True)
class _Part:
    """A link or condition of a description with the text of its base; `several`: the text names two entities."""

    of: Link | Condition
    base: str = ""
    heavy: bool = False
    several: bool = False


class NounPhrases:
    """Verbalizes descriptions. All random choices come from `rng`, those of recorded templates by `wordings`."""

    def __init__(self, book: Phrasebook, rng: random.Random) -> None:
        self.book = book
        self.rng = rng
        self.wordings = Wordings(rng)
        self._heads: dict[str, str] = {}

    def begin(self) -> None:
        """Begin a new question: forget the recorded templates and the nouns."""
        self.wordings.used.clear()
        self._heads.clear()

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
        pre = [p.text(plural) for p in pieces if p.shape == "pre"]
        post = sorted((p for p in pieces if p.shape == "post"), key=lambda p: p.heavy)
        clauses = sorted((p for p in pieces if p.shape == "vp"), key=lambda p: p.heavy)
        text = " ".join([*pre, head, *(p.text(plural) for p in post)])
        if clauses:
            # a clause after another clause must not seem to belong to the last noun of that one
            text += " and" if any(p.relative for p in pieces) else ""
            text += f" {self.pronoun(description)} {self.predicate(description, clauses, plural=plural)}"
        return text

    def predicate(self, description: Description, clauses: list[Piece], *, plural: bool = False) -> str:
        """Verb phrases joined to one; the alternatives of an Or stay together after the others."""
        texts = [p.text(plural) for p in clauses]
        links = [p for p in clauses if p.link]
        if description.join == "Or" and len(links) > 1:
            others = [p.text(plural) for p in clauses if not p.link]
            either = self.rng.choice(("either ", "", "")) if not others else "either "
            return " and ".join([*others, either + " or ".join(p.text(plural) for p in links)])
        if len(texts) > 2:
            return ", ".join(texts[:-1]) + " and " + texts[-1]
        return (", and " if len(clauses) > 1 and clauses[0].heavy else " and ").join(texts)

    def name(self, kind: str, name: str) -> str:
        """A name as it may be written in a sentence, with the article that some names take."""
        patterns: list[str] = self.book.kinds[kind]["named"]
        plain = "{name}" in patterns and self.rng.random() < PLAIN_NAME
        pattern = "{name}" if plain else brief(self.rng, patterns)
        if pattern.split()[-1] == name.split()[-1].lower():
            pattern = "{name}"  # not "the American Sign Language language"
        return pattern.replace("{name}", self._with_article(name) if pattern == "{name}" else name)

    def names(self, names: Sequence[str], join: str, *, paired: bool = False) -> str:
        """Names in a row: "A, B and C", or with `paired` "both A and B", "either A or B"."""
        opening = {"and": "both ", "or": "either "}[join] if paired or any(map(_JOINING.search, names)) else ""
        return f"{opening if len(names) == 2 else ''}{', '.join(names[:-1])} {join} {names[-1]}"

    def head(self, description: Description) -> str:
        """The noun, with brackets for singular and plural; within a question, a kind keeps its noun."""
        if not self.plain(description):
            return f"[{description.concept}|{description.concept}s]"
        if description.kind not in self._heads:
            self._heads[description.kind] = brief(self.rng, self.book.kinds[description.kind]["heads"])
        return self._heads[description.kind]

    def plain(self, description: Description) -> bool:
        """True if the description has no narrower concept than its kind."""
        return description.concept in (None, self.book.kinds[description.kind]["concept"])

    def pronoun(self, description: Description) -> str:
        word: str = self.book.kinds[description.kind]["pronoun"]
        return "which" if word == "that" and self.rng.random() < 0.05 else word

    # -- pieces -------------------------------------------------------------------------------------------------------

    def pieces(self, description: Description, *, verbs: int = 0, nouns: bool = True) -> list[Piece]:
        """The parts of a description, each in a shape that fits the others.

        Args:
            verbs: minimum number of parts, counted from the last, that become verb phrases.
            nouns: allow to replace the noun itself ("the maker of {x}").
        """
        # a heavy part comes last, so that it may be the one that becomes the verb phrase
        parts = sorted(self._parts(description), key=lambda part: part.heavy)
        alternatives = description.join == "Or" and sum(isinstance(p.of, Link) for p in parts) > 1
        made: list[Piece] = []
        for rank, part in enumerate(parts):
            must = rank >= len(parts) - verbs or (alternatives and isinstance(part.of, Link))
            shapes = {"vp"} if must else self._shapes(description, part, made, crowded=len(parts) > 1)
            made.append(self._piece(description, part, shapes if nouns else shapes - {"noun"}, len(parts) > 1))
        return made

    def _parts(self, description: Description) -> list[_Part]:
        """Links and conditions; two links by one relation from names become one part ("written by A and B")."""
        groups: list[list[Link]] = []
        for link in description.links:
            alike = next((g for g in groups if len(g) == 1 and self._alike(g[0], link)), None)
            if alike is not None:
                alike.append(link)
            else:
                groups.append([link])
        parts = [self._part(description, group) for group in groups]
        return parts + [_Part(condition) for condition in description.conditions]

    def _part(self, description: Description, group: list[Link]) -> _Part:
        bases = [self.phrase(link.base) for link in group]
        if len(group) == 1:
            return _Part(group[0], bases[0], heavy=group[0].base.name is None)
        join = description.join.lower()
        # "films by A and B" could be films by one of the two
        paired = not description.single if join == "and" else self.rng.random() < 0.2
        return _Part(group[0], self.names(bases, join, paired=paired), several=True)

    def _alike(self, a: Link, b: Link) -> bool:
        named = all(link.base.name is not None and link.qualifier is None for link in (a, b))
        if not named or (a.predicate, a.direction) != (b.predicate, b.direction):
            return False
        return any(not trailing(t, "x") for t in self.book.relations[a.predicate][a.direction]["vp"])

    def _shapes(self, description: Description, part: _Part, made: list[Piece], *, crowded: bool) -> set[str]:
        """The shapes that a part may have after the pieces made before it."""
        found = {p.shape for p in made}
        if part.heavy and crowded:
            return {"vp"} if found & {"noun", "post", "vp"} else {"vp", "post"}
        shapes = set(SHAPES)
        if not isinstance(part.of, Link) or not self.plain(description) or found:
            shapes.discard("noun")
        if found & {"noun", "pre"}:
            shapes.discard("pre")
        clear = isinstance(part.of, Condition) and description.kind in WITH_KINDS
        clear = clear and not any(link.base.kind in WITH_KINDS for link in description.links)
        clear = clear and not any(p.relative or "with " in p.template for p in made)
        if found & {"noun", "post"} and not clear:
            # "the writer of {x} at the helm of {y}": the second phrase would seem to belong to {x}
            shapes.discard("post")
        return shapes

    def _piece(self, description: Description, part: _Part, shapes: set[str], crowded: bool) -> Piece:
        """The part in the first of the shapes, in random order by weight, for which there is a template."""
        order = sorted(sorted(shapes), key=lambda shape: self.rng.random() ** (1 / SHAPES[shape]), reverse=True)
        for shape in [*order, "vp"]:
            if isinstance(part.of, Link):
                found = self._link(part, part.of, shape, crowded)
            else:
                found = self.condition(part.of, shape)
            if found is not None:
                return found
        raise AssertionError("every part has a verb phrase")

    def _link(self, part: _Part, link: Link, shape: str, crowded: bool) -> Piece | None:
        wordings = self.book.relations[link.predicate][link.direction].get(shape, [])
        last = [t for t in wordings if trailing(t, "x") == 0]
        # not "in which A and B appears", "had the maker of {y} at the helm"
        if part.several or (part.heavy and last):
            wordings = last
        if crowded and shape != "vp":
            wordings = [t for t in wordings if not _RELATIVE.search(t)]
        if not wordings or (link.qualifier and shape == "noun"):
            return None
        table = f"relations/{link.predicate}/{link.direction}/{shape}"
        template, words = self.wordings.short(table, wordings, x=part.base), {"x": part.base}
        if link.qualifier:
            key, op, value = link.qualifier
            time = value_text(self.book, key, value, op, self.rng)
            template, words = f"{template} {self.suffix(key)}", {**words, "q": str(value), "time": time}
        return Piece(shape, template, words, heavy=part.heavy, link=True)

    def condition(self, condition: Condition, shape: str) -> Piece | None:
        """A filter as a verb phrase, before the noun ("90-minute") or after it ("with a length of 90 minutes")."""
        entry = self.book.attributes[condition.key]
        value = condition.value
        if shape == "pre":
            fits = condition.op == "=" and condition.qualifier is None and entry.get("pre") and value.type != "date"
            if not fits:
                return None
            year = str(year_of(value)) if value.type == "year" else ""
            number = f"{value.value:g}" if isinstance(value.value, int | float) else ""
            template = self.wordings.short(f"attributes/{condition.key}/pre", entry["pre"])
            return Piece("pre", template, {"v": str(value), "year": year, "number": number})
        if shape == "post":
            has = [t for t in self._templates(condition) if _HAS.match(t) and not _RELATIVE.search(t)]
            if not has:
                return None
            piece = self.verb_phrase(condition, has)
            return Piece("post", _HAS.sub("with ", piece.template), piece.words)
        return self.verb_phrase(condition) if shape == "vp" else None

    def verb_phrase(self, condition: Condition, templates: Sequence[str] = ()) -> Piece:
        """A comparison of an attribute as a verb phrase, of all templates or of those given."""
        key = condition.key
        table = f"attributes/{key}/{OPERATOR_SLOTS[condition.op]}"
        template = self.wordings.short(table, templates or self._templates(condition))
        words = {"v": value_text(self.book, key, condition.value, condition.op, self.rng)}
        if condition.qualifier:
            template = f"{template} {self.suffix(condition.qualifier[0])}"
            words["q"] = str(condition.qualifier[1])
        return Piece("vp", template, words)

    def suffix(self, key: str) -> str:
        """A qualifier as a condition, at the end of a phrase."""
        table = f"qualifiers/conditions/{key}/suffix"
        return self.wordings.short(table, self.book.qualifiers["conditions"][key]["suffix"])

    def _templates(self, condition: Condition) -> Sequence[str]:
        return self.book.attribute(condition.key, OPERATOR_SLOTS[condition.op])

    def _with_article(self, name: str) -> str:
        article = self.book.article
        return f"the {name}" if name in article["names"] or name.split()[-1] in article["endings"] else name
