"""Verbalization of questions: the sentence patterns of the asking strategies, filled with noun phrases."""

from __future__ import annotations

import random
from collections.abc import Callable

from bgr.data.atlas.phrasing.nouns import LONG, NounPhrases
from bgr.data.atlas.phrasing.phrasebook import Phrasebook, agree, fill, sentence
from bgr.data.atlas.question_tree import Condition, Description, Draft

_SLOTS = {"greater": "more", "less": "lower", "largest": "most", "smallest": "least"}
# first words of a question that are not names
_OPENERS = frozenset("when in besides what apart which who whose where on by according for to".split())


class Phrasing:
    """Verbalizes drafts; each call samples again. All random choices come from `rng`."""

    def __init__(self, book: Phrasebook, rng: random.Random) -> None:
        self.book = book
        self.rng = rng
        self.nouns = NounPhrases(book, rng)

    def question(self, draft: Draft) -> str:
        """A sentence that asks for the result of the draft's program."""
        method: Callable[[Draft], str] = {
            "What": self._what, "Count": self._count, "Verify": self._verify,
            "QueryAttr": self._query_attribute, "QueryAttrUnderCondition": self._query_attribute,
            "QueryAttrQualifier": self._attribute_qualifier, "QueryRelationQualifier": self._relation_qualifier,
            "QueryRelation": self._query_relation,
            "SelectBetween": self._select_between, "SelectAmong": self._select_among,
        }[draft.function]  # fmt: skip
        return sentence(method(draft))

    def _pattern(self, strategy: str, form: str) -> str:
        pattern: str = self.rng.choice(self.book.strategies[strategy][form])
        return pattern

    # -- names --------------------------------------------------------------------------------------------------------

    def _what(self, draft: Draft) -> str:
        subject = draft.subject
        human = subject.kind == "human"
        if len(subject.links) == 1 and not subject.conditions and self.nouns.plain(subject):
            asks = self.book.relations[subject.links[0].predicate][subject.links[0].direction].get("ask")
            if asks and subject.links[0].qualifier is None and self.rng.random() < 0.45:
                base = self.nouns.phrase(subject.links[0].base)
                return fill(self.nouns.choose(asks, "x", base), {"x": base})
        if len(subject.conditions) and subject.links and self.rng.random() < 0.4:
            return self._from_group(subject)
        if self.rng.random() < 0.3:
            pieces = self.nouns.pieces(subject)
            text = "the " + self.nouns.assemble(subject, pieces)
            form = "who name" if human else "noun" if any(p.shape == "noun" for p in pieces) else "name"
            return fill(self.nouns.choose(self.book.strategies["what"][form], "np", text), {"np": text})
        return self._which("what", subject, "who" if human and self.nouns.plain(subject) else "which", plural=False)

    def _which(self, strategy: str, subject: Description, form: str, *, plural: bool) -> str:
        """The subject's last part as the question, about the entities that the other parts describe."""
        pieces = self.nouns.pieces(subject, verbs=1, nouns=False)
        clauses = [p for p in pieces if p.shape == "vp"]
        if subject.join != "Or" and form != "who":
            clauses = clauses[-1:]
        rest = [p for p in pieces if p not in clauses]
        if form in ("who", "people"):
            verbs = len(subject.links) + len(subject.conditions)
            clauses, rest = self.nouns.pieces(subject, verbs=verbs, nouns=False), []
        bare = self.nouns.assemble(subject, rest, plural=plural)
        words = {"bare": bare, "vp": self.nouns.predicate(subject, clauses, plural=plural), "group": f"the {bare}"}
        pattern = self._pattern(strategy, form)
        if any(p.shape == "vp" for p in rest) and "{bare} that" in pattern:
            pattern = self.book.strategies[strategy][form][0]
        return fill(pattern, words)

    def _from_group(self, subject: Description) -> str:
        """ "Of the films that …, which one …?": the last filter selects from the entities that the rest describes."""
        last = subject.conditions[-1]
        group = Description(
            subject.kind, subject.members * 2, links=subject.links, join=subject.join,
            concept=subject.concept, conditions=subject.conditions[:-1],
        )  # fmt: skip
        words = {"group": "the " + self.nouns.bare(group, plural=True), "vp": self.nouns.verb_phrase(last).text()}
        return fill(self._pattern("what", "group"), words)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def _query_attribute(self, draft: Draft) -> str:
        question = self._ask(draft, self.nouns.phrase(draft.subject))
        if draft.qualifier is None:
            return question
        pattern = self._pattern("query attribute", "condition")
        if not question.endswith("?"):
            pattern = "{prefix}: {question}"
        elif "{suffix}" in pattern:
            question = question.removesuffix("?")
        if pattern.startswith("{prefix}") and not question.startswith(tuple(draft.names())):
            question = question[:1].lower() + question[1:]
        return fill(pattern, {"question": question, **self._condition_words(draft)})

    def _ask(self, draft: Draft, subject: str) -> str:
        entry = self.book.attributes[draft.key]
        asks = self.book.attribute(draft.key, "ask")
        if entry.get("time") and draft.value is not None and draft.value.type == "year":
            asks = (*asks, *entry["ask year"], *entry["ask year"])
        return fill(self.nouns.choose(asks, "x", subject), {"x": subject})

    def _condition_words(self, draft: Draft) -> dict[str, str]:
        assert draft.qualifier is not None
        words = self.book.qualifiers["conditions"][draft.qualifier[0]]
        value = {"q": str(draft.qualifier[1])}
        return {place: fill(self.rng.choice(words[place]), value) for place in ("prefix", "suffix")}

    def _attribute_qualifier(self, draft: Draft) -> str:
        assert draft.qualifier is not None
        assert draft.value is not None
        subject = self.nouns.phrase(draft.subject)
        phrase = self.nouns.verb_phrase(Condition(draft.key, "=", draft.value))
        inverted = phrase.question(subject)
        ask = self.rng.choice(self.book.qualifiers["attributes"][draft.qualifier[0]]["ask"])
        words = {"clause": f"{subject} {phrase.text()}", "inverted": inverted[:1].lower() + inverted[1:]}
        return self._fill_ask("query attribute qualifier", fill(ask, words))

    def _verify(self, draft: Draft) -> str:
        assert draft.value is not None
        subject = self.nouns.phrase(draft.subject)
        phrase = self.nouns.verb_phrase(Condition(draft.key, draft.op, draft.value))
        words = {"clause": f"{subject} {phrase.text()}", "inverted": phrase.question(subject)}
        # the verb of a yes/no question comes after the subject, which is too late if that is long
        form = "inverted" if self.rng.random() < (0.6 if len(subject) < 2 * LONG else 0.2) else "clause"
        if draft.qualifier is not None:
            form = "condition"
            words.update(self._condition_words(draft))
        pattern = self._pattern("verify", form)
        if not pattern.startswith("{inverted}"):
            words["inverted"] = words["inverted"][:1].lower() + words["inverted"][1:]
        return fill(pattern, words)

    # -- relations ----------------------------------------------------------------------------------------------------

    def _query_relation(self, draft: Draft) -> str:
        assert draft.other is not None
        words = {"a": self.nouns.phrase(draft.subject), "b": self.nouns.phrase(draft.other)}
        return fill(self._pattern("query relation", "patterns"), words)

    def _relation_qualifier(self, draft: Draft) -> str:
        assert draft.other is not None
        assert draft.qualifier is not None
        ask = self.rng.choice(self.book.qualifiers["relations"][draft.key][draft.qualifier[0]]["ask"])
        words = {"x": self.nouns.phrase(draft.subject), "y": self.nouns.phrase(draft.other)}
        return self._fill_ask("query relation qualifier", fill(ask, words))

    def _fill_ask(self, strategy: str, ask: str) -> str:
        pattern = self._pattern(strategy, "patterns")
        first, _, rest = ask.partition(" ")
        known = first.lower() in _OPENERS
        return fill(pattern if known else "{ask}", {"ask": f"{first.lower()} {rest}" if known else ask})

    # -- counting and comparing ---------------------------------------------------------------------------------------

    def _count(self, draft: Draft) -> str:
        subject = draft.subject
        people = subject.kind == "human" and self.nouns.plain(subject)
        if self.rng.random() < 0.4:
            bare = self.nouns.bare(subject, plural=True)
            pattern = self.nouns.choose(self.book.strategies["count"]["name"], "bare", bare)
            return fill(pattern, {"bare": bare, "group": f"the {bare}"})
        return self._which("count", subject, "people" if people else "which", plural=True)

    def _select_between(self, draft: Draft) -> str:
        assert draft.other is not None
        first, second = self.nouns.phrase(draft.subject), self.nouns.phrase(draft.other)
        head = self.rng.choice(self.book.kinds[draft.subject.kind]["heads"])
        words = {"a": first, "b": second, "vp": self._compared(draft), "head": agree(head), "heads": agree(head, True)}
        return fill(self._pattern("select between", self.rng.choice(("same kind", "any kind"))), words)

    def _select_among(self, draft: Draft) -> str:
        subject = draft.subject
        words = {"vp": self._compared(draft), "head": agree(self.nouns.head(subject))}
        if subject.options:
            names = [self.nouns.name(subject.kind, name) for name in subject.options]
            words["names"] = ", ".join(names[:-1]) + " and " + names[-1]
            return fill(self._pattern("select among", "options"), words)
        words["group"] = "the " + self.nouns.bare(subject, plural=True)
        return fill(self._pattern("select among", "group"), words)

    def _compared(self, draft: Draft) -> str:
        return agree(self.rng.choice(self.book.attribute(draft.key, _SLOTS[draft.op])))
