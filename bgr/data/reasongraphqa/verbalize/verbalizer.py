"""Verbalization of facts by templates: one to three facts of the same head in one sentence (paper, section 3.1.2).

Templates are sampled by the seed and the facts, so that a fact has the same sentence in every run and every question.
Sentences are complete and add nothing; `missing_parts` tests completeness by string matching.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.verbalize.templates import Forms, load_templates, value_text, when_text, with_article

MAX_JOINED = 3
STYLES = 6  # every combination of the date styles and the unit styles


@dataclass(frozen=True)
class _Clause:
    """One fact with the fields that fill its templates."""

    forms: Forms
    fields: dict[str, str]
    suffix: str
    has_kind: bool

    def options(self, form: str) -> list[str]:
        return [text for text in self.forms[form] if self.has_kind or "{kind}" not in text]

    def say(self, form: str, rng: Random) -> str:
        """A filled phrase of that form with its qualifiers; ``{head}`` is filled later."""
        text = rng.choice(self.options(form))
        if form == "sentence":
            text = text.removesuffix(".")
        return _fill(text, self.fields) + self.suffix


class Verbalizer:
    """Verbalizes facts.

    Args:
        kb: knowledge base, which gives names and concepts.
        seed: seed for the choice of templates; equal seeds give equal sentences for equal facts.
    """

    def __init__(self, kb: KnowledgeBase, seed: int = 0) -> None:
        self.kb = kb
        self.seed = seed
        self.templates = load_templates()

    def sentence(self, facts: Sequence[Fact]) -> str:
        """One sentence that states one to three facts of one head.

        Raises:
            ValueError: no fact, more than three, or several heads.
        """
        if not 1 <= len(facts) <= MAX_JOINED or len({fact.head for fact in facts}) > 1:
            raise ValueError(f"a sentence states 1 to {MAX_JOINED} facts of one head, got {len(facts)}")
        rng = Random(f"{self.seed}|{'|'.join(map(repr, facts))}")
        clauses = [self._clause(fact, rng) for fact in facts]
        rng.shuffle(clauses)
        options = [pattern for pattern in _PATTERNS[len(facts)] if _fits(pattern, clauses)]
        who = "who" if self._concepts(facts[0].head) & self.templates.persons else "which"
        text = rng.choice(options)(clauses, who, rng)
        return _finish(_fill(text, {"head": self.mention(facts[0].head)}))

    def mention(self, node: str) -> str:
        """The name of an entity or concept, with `the` if English requires it."""
        name = self.kb.name(node)
        takes = self._concepts(node) & self.templates.article_kinds and self.templates.article_names.search(name)
        return f"the {name}" if takes else name

    def kind(self, node: str) -> str | None:
        """A common noun for an entity, from its concepts; ``None`` if none is suitable."""
        names = self._concepts(node)
        listed = next((kind for kind in self.templates.kinds if kind in names), None)
        direct = self.kb.concepts_of(node)
        # a single concept describes the entity; of several, none does alone
        return listed or (self.kb.name(direct[0]) if len(direct) == 1 else None)

    def _concepts(self, node: str) -> frozenset[str]:
        return frozenset(self.kb.name(concept) for concept in self.kb.all_concepts_of(node))

    def _clause(self, fact: Fact, rng: Random) -> _Clause:
        style, suffix, when = rng.randrange(STYLES), "", ""
        if fact.value is not None:
            text, when = value_text(fact.value, style), when_text(fact.value, style)
        else:
            text = self.mention(str(fact.tail))
        for key, value in fact.qualifiers:
            phrase = rng.choice(self.templates.qualifier(key))
            shown = {"value": value_text(value, style), "when": when_text(value, style)}
            if key in self.templates.at_value:
                text += _fill(phrase, shown)
            else:
                suffix += _fill(phrase, shown)
        kind = self.kind(fact.head)
        fields = {"value": text, "when": when or text, "kind": kind or ""}
        return _Clause(self.templates.forms(fact.predicate), fields, suffix, kind is not None)


def missing_parts(kb: KnowledgeBase, sentence: str, facts: Sequence[Fact]) -> list[str]:
    """Names and values of the facts that the sentence lacks, by string matching that ignores case."""
    text = sentence.casefold()
    missing = [kb.name(facts[0].head)] if facts and kb.name(facts[0].head).casefold() not in text else []
    for fact in facts:
        if fact.tail is not None and kb.name(fact.tail).casefold() not in text:
            missing.append(kb.name(fact.tail))
        values = [fact.value, *(value for _, value in fact.qualifiers)]
        for value in (value for value in values if value is not None):
            if not any(value_text(value, style).casefold() in text for style in range(STYLES)):
                missing.append(str(value))
    return missing


# -- patterns that join clauses; `_NEEDS` has the form that each needs of each clause ----------------------------------

_Pattern = Callable[[Sequence[_Clause], str, Random], str]


def _statement(clause: _Clause, rng: Random, aside: str = "") -> str:
    """A main clause, with an aside in commas after the head."""
    forms = [form for form in ("verb", "sentence") if clause.options(form)]
    # each template is equally probable, whatever its form
    form = rng.choices(forms, [len(clause.options(f)) for f in forms])[0]
    text = clause.say(form, rng) if form == "sentence" else "{head} " + clause.say("verb", rng)
    return text.replace("{head}", f"{{head}}, {aside},", 1) if aside else text


def _alone(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    return _statement(clauses[0], rng)


def _apposition(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    return _statement(clauses[0], rng, clauses[1].say("noun", rng))


def _relative(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    return _statement(clauses[0], rng, f"{who} {_verbs(clauses[1:], rng)}")


def _conjunction(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    return f"{{head}} {_verbs(clauses, rng)}"


def _fronted(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    return f"{clauses[0].say('front', rng)}, {{head}} {_verbs(clauses[1:], rng)}"


def _apposition_and(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    verbs = _verbs(clauses[1:], rng)  # sampled before the noun
    return f"{{head}}, {clauses[0].say('noun', rng)}, {verbs}"


def _fronted_apposition(clauses: Sequence[_Clause], who: str, rng: Random) -> str:
    front, noun, main = clauses
    return f"{front.say('front', rng)}, {{head}}, {noun.say('noun', rng)}, {main.say('verb', rng)}"


def _verbs(clauses: Sequence[_Clause], rng: Random) -> str:
    return " and ".join(clause.say("verb", rng) for clause in clauses)


_NEEDS: dict[_Pattern, tuple[str, ...]] = {
    _apposition: ("", "noun"),
    _fronted: ("front",),
    _apposition_and: ("noun",),
    _fronted_apposition: ("front", "noun"),
}
_PATTERNS: dict[int, tuple[_Pattern, ...]] = {
    1: (_alone,),
    2: (_apposition, _relative, _conjunction, _fronted),
    3: (_apposition_and, _fronted_apposition, _relative, _fronted),
}


def _fits(pattern: _Pattern, clauses: Sequence[_Clause]) -> bool:
    return all(clause.options(form) for clause, form in zip(clauses, _NEEDS.get(pattern, ()), strict=False) if form)


# braces and commas in names are replaced until `_finish`, so that they are not taken for slots or doubled commas
_GUARD = str.maketrans("{,", "\ufdd0\ufdd1")
_UNGUARD = str.maketrans("\ufdd0\ufdd1", "{,")
_OXIDATION_STATE = re.compile(r"\([IVX,]+\)")
_SLOT = re.compile(r"(a\(n\) )?\{(\w+)\}")


def _fill(text: str, fields: dict[str, str]) -> str:
    """Fill in the fields, with guarded braces and commas; unknown slots are kept."""

    def put(match: re.Match[str]) -> str:
        found = fields.get(match[2])
        if found is None:
            return match[0]
        return (with_article(found) if match[1] else found).translate(_GUARD)

    plural = "" if fields.get("value") == "1" else "s"
    return _SLOT.sub(put, text.replace("(s)", plural) if "value" in fields else text)


def _finish(text: str) -> str:
    text = text.replace(",,", ",").rstrip(",").translate(_UNGUARD)
    text = text if text.endswith((".", "!", "?")) else text + "."
    first = text.split(" ", 1)[0]
    # "gold" and "iron(II)" are capitalized at the start of a sentence, a name such as "eXistenZ" is not
    return text[:1].upper() + text[1:] if _OXIDATION_STATE.sub("", first).islower() else text
