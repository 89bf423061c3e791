"""Verbalization of questions: the sentence patterns of the asking strategies, filled with noun phrases."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

from bgr.data.atlas.phrasing.nouns import NounPhrases, Piece
from bgr.data.atlas.phrasing.phrasebook import LONG, Phrasebook, agree, fill, sentence
from bgr.data.atlas.question_tree import Condition, Description, Draft

_SLOTS = {"greater": "more", "less": "lower", "largest": "most", "smallest": "least"}
_BEST = re.compile(r"\[is\|are\] the (\w+est)")
_MOST = re.compile(r"\[has\|have\] the (.+)")


class Phrasing:
    """Verbalizes drafts; each call samples again. All random choices come from `rng`."""

    def __init__(self, book: Phrasebook, rng: random.Random) -> None:
        self.book = book
        self.rng = rng
        self.nouns = NounPhrases(book, rng)
        self.wordings = self.nouns.wordings

    @property
    def phrasings(self) -> tuple[str, ...]:
        """The templates of the last question, each with its table, in the order of their choice.

        Those of relations, attributes, qualifiers and asking strategies count, those of names and values do not.
        """
        return tuple(self.wordings.used)

    def question(self, draft: Draft) -> str:
        """A sentence that asks for the result of the draft's program."""
        method: Callable[[Draft], str] = {
            "What": self._what, "Count": self._count, "Verify": self._verify,
            "QueryAttr": self._query_attribute, "QueryAttrUnderCondition": self._query_attribute,
            "QueryAttrQualifier": self._attribute_qualifier, "QueryRelationQualifier": self._relation_qualifier,
            "QueryRelation": self._query_relation,
            "SelectBetween": self._select_between, "SelectAmong": self._select_among,
        }[draft.function]  # fmt: skip
        self.nouns.begin()
        return sentence(method(draft))

    def _pattern(self, strategy: str, form: str, without: str = "", **words: str) -> str:
        """A sentence pattern, not one that contains the text `without`; a long text of `words` mostly comes last."""
        patterns = [p for p in self.book.strategies[strategy][form] if not without or without not in p]
        return self.wordings.plain(f"strategies/{strategy}/{form}", patterns, **words)

    def _chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- names --------------------------------------------------------------------------------------------------------

    def _what(self, draft: Draft) -> str:
        subject = draft.subject
        human = subject.kind == "human"
        if len(subject.links) == 1 and not subject.conditions and self.nouns.plain(subject):
            link = subject.links[0]
            asks = self.book.relations[link.predicate][link.direction].get("ask")
            if asks and link.qualifier is None and self._chance(0.4):
                base, table = self.nouns.phrase(link.base), f"relations/{link.predicate}/{link.direction}/ask"
                return fill(self.wordings.ask(table, asks, x=base), {"x": base})
        if subject.conditions and subject.links and self._chance(0.15):
            return self._from_group(subject)
        if self._chance(0.3):
            pieces = self.nouns.pieces(subject)
            text = "the " + self.nouns.assemble(subject, pieces)
            noun = "noun" if any(p.shape == "noun" for p in pieces) else "name"
            form = "who name" if human else "film name" if subject.kind == "film" else noun
            return fill(self._pattern("what", form, np=text), {"np": text})
        form = ("who" if self.nouns.plain(subject) else "human") if human else "which"
        return self._which("what", subject, form, plural=False)

    def _which(self, strategy: str, subject: Description, form: str, *, plural: bool) -> str:
        """The subject's last part as the question, about the entities that the other parts describe."""
        everything = form in ("who", "people")
        verbs = len(subject.links) + len(subject.conditions) if everything else 1
        pieces = self.nouns.pieces(subject, verbs=verbs, nouns=False)
        clauses = [p for p in pieces if p.shape == "vp"]
        if subject.join != "Or" and not everything:
            clauses = clauses[-1:]
        rest = [p for p in pieces if p not in clauses]
        bare = self.nouns.assemble(subject, rest, plural=plural)
        if form == "which" and plural and any(p.shape != "pre" for p in rest):
            form = "part"
        vp = self.nouns.predicate(subject, clauses, plural=plural)
        words = {"bare": bare, "vp": vp, "group": f"the {bare}", "who": self.nouns.pronoun(subject)}
        # a relative clause after another one would seem to belong to the last noun of that one, and "what is the time
        # zone that is kept in {x}" says no more than "which time zone"
        clause = not rest or any(p.shape == "vp" or p.relative for p in rest)
        return fill(self._pattern(strategy, form, without="{who}" if clause else ""), words)

    def _from_group(self, subject: Description) -> str:
        """ "Which of the films that … is …?": the last filter selects from the entities that the rest describes."""
        group = replace(subject, members=subject.members * 2, conditions=subject.conditions[:-1])
        words = {"group": "the " + self.nouns.bare(group, plural=True)}
        words["vp"] = self.nouns.verb_phrase(subject.conditions[-1]).text()
        return fill(self._pattern("what", "group"), words)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def _query_attribute(self, draft: Draft) -> str:
        subject = self.nouns.phrase(draft.subject)
        question = self._ask(draft, subject)
        if draft.qualifier is None:
            return question
        # after a description, a condition would seem to belong to it
        pattern = self._pattern("query attribute", "condition", without="" if draft.subject.name else "{suffix}")
        if "{suffix}" in pattern:
            question = question.removesuffix("?")
        elif not question.startswith(tuple(draft.names())):
            question = question[:1].lower() + question[1:]
        return fill(pattern, {"question": question, **self._condition_words(draft, pattern)})

    def _ask(self, draft: Draft, subject: str) -> str:
        key, entry = draft.key, self.book.attributes[draft.key]
        if entry.get("generic", True) and self._chance(0.25):
            form = "name" if draft.subject.name and len(subject.split()) <= 3 and subject[-1].isalpha() else "noun"
            # a condition follows the question mark
            pattern = self._pattern("query attribute", form, without="." if draft.qualifier else "", x=subject)
            noun = self.wordings.short(f"attributes/{key}/nouns", entry["nouns"])
            return fill(pattern, {"x": subject, "n": noun})
        asks = self.book.attribute(key, "ask")
        if entry.get("time") and draft.value is not None and draft.value.type == "year":
            asks = (*asks, *entry["ask year"], *entry["ask year"])
        if draft.qualifier is not None:
            asks = tuple(ask for ask in asks if ask.endswith("?"))
        return fill(self.wordings.ask(f"attributes/{key}/ask", asks, x=subject), {"x": subject})

    def _condition_words(self, draft: Draft, pattern: str) -> dict[str, str]:
        """The texts of the placeholders of a condition that the pattern has."""
        assert draft.qualifier is not None
        key, value = draft.qualifier
        words = self.book.qualifiers["conditions"][key]
        return {
            place: fill(self.wordings.short(f"qualifiers/conditions/{key}/{place}", words[place]), {"q": str(value)})
            for place in ("prefix", "suffix")
            if "{" + place + "}" in pattern
        }

    def _attribute_qualifier(self, draft: Draft) -> str:
        assert draft.qualifier is not None
        assert draft.value is not None
        key = draft.qualifier[0]
        subject = self.nouns.phrase(draft.subject)
        phrase = self.nouns.verb_phrase(Condition(draft.key, "=", draft.value))
        ask = self.wordings.short(f"qualifiers/attributes/{key}/ask", self.book.qualifiers["attributes"][key]["ask"])
        return fill(ask, self._stated(subject, phrase, lower=True))

    def _verify(self, draft: Draft) -> str:
        assert draft.value is not None
        subject = self.nouns.phrase(draft.subject)
        phrase = self.nouns.verb_phrase(Condition(draft.key, draft.op, draft.value))
        if draft.qualifier is not None:
            pattern = self._pattern("verify", "condition", without="" if draft.subject.name else "{inverted} {suffix}")
            conditions = self._condition_words(draft, pattern)
            lower = not pattern.startswith("{inverted}")
            return fill(pattern, {**self._stated(subject, phrase, lower=lower), **conditions})
        # the verb of a yes/no question comes after the subject, which is late if that is long
        if self._chance(0.9 if len(subject) < 2 * LONG else 0.7):
            return phrase.question(subject) + "?"
        return fill(self._pattern("verify", "clause"), self._stated(subject, phrase, lower=True))

    @staticmethod
    def _stated(subject: str, phrase: Piece, *, lower: bool) -> dict[str, str]:
        """A verb phrase about a subject as a statement and as a question."""
        inverted = phrase.question(subject)
        if lower:
            inverted = inverted[:1].lower() + inverted[1:]
        return {"clause": f"{subject} {phrase.text()}", "inverted": inverted}

    # -- relations ----------------------------------------------------------------------------------------------------

    def _query_relation(self, draft: Draft) -> str:
        assert draft.other is not None
        words = {"a": self.nouns.phrase(draft.subject), "b": self.nouns.phrase(draft.other)}
        return fill(self._pattern("query relation", "patterns", **words), words)

    def _relation_qualifier(self, draft: Draft) -> str:
        assert draft.other is not None
        assert draft.qualifier is not None
        predicate, key = draft.key, draft.qualifier[0]
        words = {"x": self.nouns.phrase(draft.subject), "y": self.nouns.phrase(draft.other)}
        asks = self.book.qualifiers["relations"][predicate][key]["ask"]
        return fill(self.wordings.ask(f"qualifiers/relations/{predicate}/{key}/ask", asks), words)

    # -- counting and comparing ---------------------------------------------------------------------------------------

    def _count(self, draft: Draft) -> str:
        subject = draft.subject
        people = subject.kind == "human" and self.nouns.plain(subject)
        if self._chance(0.25):
            bare = self.nouns.bare(subject, plural=True)
            return fill(self._pattern("count", "name", bare=bare), {"bare": bare, "group": f"the {bare}"})
        return self._which("count", subject, "people" if people else "which", plural=True)

    def _select_between(self, draft: Draft) -> str:
        assert draft.other is not None
        first, second = self.nouns.phrase(draft.subject), self.nouns.phrase(draft.other)
        template = self._compared(draft)
        if len(first) + len(second) < 2 * LONG and self._chance(0.15):
            return Piece("vp", template).question(f"{first} or {second}") + "?"
        head = self.nouns.head(replace(draft.subject, concept=None))
        words = {"a": first, "b": second, "vp": agree(template), "head": agree(head), "heads": agree(head, True)}
        return fill(self._pattern("select between", "same kind" if self._chance(0.5) else "any kind", b=second), words)

    def _select_among(self, draft: Draft) -> str:
        subject, template = draft.subject, self._compared(draft)
        head = self.nouns.head(subject)
        words = {"vp": agree(template), "head": agree(head), "heads": agree(head, True)}
        if subject.options:
            names = [self.nouns.name(subject.kind, name) for name in subject.options]
            words |= {"names": self.nouns.names(names, "and"), "either": self.nouns.names(names, "or")}
            return fill(self._pattern("select among", "options"), words)
        pieces = self.nouns.pieces(subject)
        words["bare"] = self.nouns.assemble(subject, pieces)
        words["group"] = "the " + self.nouns.assemble(subject, pieces, plural=True)
        best, most = _BEST.fullmatch(template), _MOST.fullmatch(template)
        words |= {"best": best[1] if best else "", "most": most[1] if most else ""}
        # a phrase after a clause or a description would seem to belong to that
        closed = not any(p.shape == "vp" or p.relative or p.heavy for p in pieces)
        form = "which" if closed and self._chance(0.5) else "group"
        if closed and (best or most) and self._chance(0.6):
            form = "best" if best else "most"
        return fill(self._pattern("select among", form), words)

    def _compared(self, draft: Draft) -> str:
        slot = _SLOTS[draft.op]
        return self.wordings.short(f"attributes/{draft.key}/{slot}", self.book.attribute(draft.key, slot))
