"""Checks that a paraphrase of a question asks for the same: names, quantities, directions, negations, form.

All of them compare texts; none of them needs a model. What they cannot see (a relation replaced by another one) is for
the prompt, which tells the model the steps of the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.form import asks_for, has_type, is_broken, is_one_question, repeats, things
from bgr.data.reasongraphqa.paraphrase.relations import SAID_OTHERWISE, mentions, relations
from bgr.data.reasongraphqa.paraphrase.wording import Measure, directions, holds, mask, measures, negations
from bgr.utils.quantities import MONTHS, find_quantities

MAX_CHARACTERS = 400
MIN_WORDS = 3
SHORTEST, LONGEST, SPARE = 0.5, 1.6, 4
"""Words of a paraphrase: at least this share of the question's words, at most that share and these more."""


@dataclass(frozen=True)
class Wording:
    """A question and one further wording of it."""

    question: Question
    text: str

    @cached_property
    def names(self) -> frozenset[str]:
        return program_names(self.question.program)

    @cached_property
    def masked(self) -> str:
        return mask(self.text, self._masks)

    @cached_property
    def masked_question(self) -> str:
        return mask(self.question.text, self._masks)

    @cached_property
    def _masks(self) -> frozenset[str]:
        # no number of "ISO 3166-1 alpha-2 code" is compared with anything
        given = (given for step in self.question.program.steps for role, given in step.named_inputs if role == "key")
        return self.names.union(key for key in given if any(map(str.isdigit, key)))


def find_problem(question: Question, text: str, others: Iterable[str] = ()) -> str | None:
    """The reason why a text is no paraphrase of the question, or ``None``: the first that applies.

    Args:
        others: wordings of the question that are accepted already.
    """
    text = " ".join(text.split())
    known = {normalized(other) for other in (question.text, *others)}
    if not text:
        return "empty"
    if normalized(text) in known:
        return "a copy"
    wording = Wording(question, text)
    return next((reason for reason, is_wrong in CHECKS.items() if is_wrong(wording)), None)


def normalized(text: str) -> str:
    """The words of a text without case, punctuation and articles."""
    return " ".join(word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the"))


# -- names ------------------------------------------------------------------------------------------------------------


def program_names(program: Program) -> frozenset[str]:
    """The names and the other texts that the steps of a program look for, without numbers and dates."""
    return frozenset(
        given
        for step in program.steps
        for role, given in step.named_inputs
        if role == "name"
        or (role == "value" and step.signature.kind == "string")
        or (role in ("qualifier value", "key's value") and not _is_number(given))
    )


def _is_number(text: str) -> bool:
    """True for a number, also with a unit, and for a date."""
    found = find_quantities(text)
    return len(found) == 1 and found[0].start == 0 and text[found[0].end :][:1] in ("", " ")


def _lost_name(wording: Wording) -> bool:
    return any(holds(wording.question.text, name) and not holds(wording.text, name) for name in _outer(wording))


def _outer(wording: Wording) -> Iterator[str]:
    """The names that the question contains outside of other names, as "Hamlet" is not by "Hamlet 2"."""
    for name in wording.names:
        if holds(mask(wording.question.text, (other for other in wording.names if len(other) > len(name))), name):
            yield name


_CAPITAL = re.compile(r"(?<![\w'’.-])[A-Z][\w'’-]*")
_START = re.compile(r"(?:^|[:?!.]\s|[\"“‘'(])\s*$")


def _new_name(wording: Wording) -> bool:
    # months are for the checks of dates
    known = {*_words(wording.question.text), *MONTHS, "i", "us", "u", "s"}
    known |= {w for step in wording.question.program.steps for given in step.inputs for w in _words(given)}
    for match in _CAPITAL.finditer(wording.masked):
        at_start = _START.search(wording.masked[: match.start()])
        if not at_start and not set(_words(match[0].removesuffix("'s").removesuffix("’s"))) <= known:
            return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _lost_kind(wording: Wording) -> bool:
    """True if a kind of thing is lost, or words that narrow a concept or a key: the "horror" of film, the "official" of
    language.

    Of a key these are only its adjectives, by their endings; its other words are often said otherwise.
    """
    asked, said = set(_words(wording.masked_question)), _words(wording.masked)
    for step in wording.question.program.steps:
        for role, given in step.named_inputs:
            narrowing = _words(given)[:-1] if role in ("concept", "predicate", "key") else []
            for word in narrowing:
                if word == "chemical" or (role != "concept" and not word.endswith(("al", "ic", "ive"))):
                    continue
                stem = word[:5]
                if any(w.startswith(stem) for w in asked) and not any(w.startswith(stem) for w in said):
                    return True
    return not things(wording.masked_question) <= things(wording.masked)


_NARROWING = frozenset(
    "positive negative official popular famous first last original major main same character characters book books "
    "novel novels song songs album albums series show shows game games".split()
)
_FIRST = re.compile(r"\b(?:first|last|only) (?:film|movie|picture|element|compound|country|city|language|airport)")


def _new_condition(wording: Wording) -> bool:
    """True for "fewer than 20 positive reviews", where the question has no "positive", and for "the first film that",
    where it has "first shown"."""
    if _FIRST.search(wording.masked) and not _FIRST.search(wording.masked_question):
        return True
    new = _NARROWING.intersection(_words(wording.masked)).difference(_words(wording.question.text))
    return bool(new - {w for step in wording.question.program.steps for given in step.inputs for w in _words(given)})


def _lost_relation(wording: Wording) -> bool:
    """True if the words of a relation or attribute are lost, or "Bo Lind's film" replaces what Bo Lind did for it.

    A possessive names no relation that leads backward. What may be said otherwise is lost if another relation is named
    once more: "written by the writer" for "written by the director".
    """
    asked, said = mentions(wording.masked_question), mentions(wording.masked)
    lost = set(asked) - set(said) - (SAID_OTHERWISE if said <= asked else frozenset())
    steps = wording.question.program.steps
    for step in steps:
        for role, given in step.named_inputs:
            if role in ("predicate", "key") and lost & relations(given):
                return True
        if step.function == "Relate" and step.inputs[1] == "backward":
            name = steps[step.dependencies[0]].inputs[:1] if steps[step.dependencies[0]].function == "Find" else ()
            forms = [f"{one}{ending}" for one in name for ending in ("'s", "’s", "'", "’")]
            if any(form in wording.text and form not in wording.question.text for form in forms):
                return True
    return False


def _new_relation(wording: Wording) -> bool:
    """True if a relation is named that neither the question nor the program has: "produced" for "directed"."""
    keys = (given for step in wording.question.program.steps for given in step.inputs)
    known = relations(wording.masked_question).union(*map(relations, keys))
    return not relations(wording.masked) <= known


_COORDINATED = re.compile(r"\b(\w+) and (?:also )?(\w+)\b")


def _reversed_relation(wording: Wording) -> bool:
    """True for "produced by Persona", where the program asks who produced it, and for "director of Bo Lind".

    Also for "the writer of Persona" instead of its director, and for one who "directed and produced" what another one
    produced.
    """
    for match in _COORDINATED.finditer(wording.masked):
        if relations(match[1]) and relations(match[2]) and match[0] not in wording.masked_question:
            return True
    steps = wording.question.program.steps
    for number, step in enumerate(steps):
        if step.function == "Find":
            users = [one.inputs[0] for one in steps if one.function == "Relate" and number in one.dependencies]
            for match in re.finditer(rf"(\w+(?:er|or)) of {re.escape(step.inputs[0])}(?!\w)", wording.text):
                known = frozenset().union(*map(relations, users))
                if relations(match[1]) - known and match[0] not in wording.question.text:
                    return True
    for step in steps:
        if step.function != "Relate" or steps[step.dependencies[0]].function != "Find":
            continue
        predicate, direction = step.inputs
        name = re.escape(steps[step.dependencies[0]].inputs[0])
        pattern = rf"(\w+) by {name}(?!\w)" if direction == "forward" else rf"(\w+(?:er|or)s?) of {name}(?!\w)"
        for match in re.finditer(pattern, wording.text):
            if relations(match[1]) & relations(predicate) and match[0] not in wording.question.text:
                return True
    return False


def _gives_answer(wording: Wording) -> bool:
    answer, text = wording.question.answer.casefold(), wording.question.text.casefold()
    if answer in ("yes", "no") or holds(text, answer):
        return False
    return holds(wording.text.casefold(), answer)


# -- quantities, directions, negations --------------------------------------------------------------------------------


def _lost_quantity(wording: Wording) -> bool:
    return not _covers(measures(wording.masked), measures(wording.masked_question))


def _new_quantity(wording: Wording) -> bool:
    return not _covers(measures(wording.masked_question), measures(wording.masked))


def _covers(some: list[Measure], others: list[Measure]) -> bool:
    """True if each of the others has an equal one."""
    return all(any(one.same_value(other) for one in some) for other in others)


def _other_comparison(wording: Wording) -> bool:
    """True if a quantity is compared otherwise than in the program, or in the question if the program has none."""
    before = measures(wording.masked_question)
    targets = list(_targets(wording.question.program))
    for one in measures(wording.masked):
        asked = [other for other in before if one.same_value(other)]
        ops = {op for value, op in targets if value == one.value} or {other.op for other in asked}
        # some questions say it in a way that no rule reads: "is still solid at 90 K"
        if one.op not in ops and not any((one.op, one.cue) == (other.op, other.cue) for other in asked):
            return True
    return False


def _targets(program: Program) -> Iterator[tuple[float | str, str]]:
    """The value and operator of each comparison with a quantity, a year or a date."""
    for step in program.steps:
        if step.signature.kind in ("quantity", "year", "date"):
            value, op = step.value, step.inputs[-1]
            assert value is not None
            if value.type == "date":
                yield str(value), op
            else:
                yield float(value.value), op  # type: ignore[arg-type]  # a quantity or a year


def _other_direction(wording: Wording) -> bool:
    asked, said = directions(wording.masked_question), directions(wording.masked)
    chosen = {
        "more" if step.inputs[-1] in ("greater", "largest") else "less"
        for step in wording.question.program.steps
        if step.function in ("SelectBetween", "SelectAmong")
    }
    return said != asked if asked or not chosen else said != chosen


def _other_negation(wording: Wording) -> bool:
    return negations(wording.masked) != negations(wording.masked_question)


# -- form -------------------------------------------------------------------------------------------------------------

_LEAK = re.compile(r"\bsteps?\b|\bstatements?\b|[_{}\[\]<>|\\`]|\(\d\)|\b[A-Za-z]{1,2}\d{3,}\b|['\"][a-z ]+['\"]")


def _wrong_length(wording: Wording) -> bool:
    asked, said = len(wording.question.text.split()), len(wording.text.split())
    in_bounds = max(MIN_WORDS, SHORTEST * asked) <= said <= LONGEST * asked + SPARE
    return not in_bounds or len(wording.text) > MAX_CHARACTERS


def _leaks(wording: Wording) -> bool:
    found = {match[0] for match in _LEAK.finditer(wording.masked)}
    return any(one not in wording.question.text for one in found)


def _other_type(wording: Wording) -> bool:
    last = wording.question.program.steps[-1].function
    answer = wording.question.answer
    kinds = {asks_for(wording.masked), asks_for(wording.masked_question)} - {None}
    if last in ("What", "SelectBetween", "SelectAmong") and len(kinds) > 1:
        return True
    times = find_quantities(answer)
    asks_time = len(times) == 1 and (times[0].date or len(answer) == 4)
    return not has_type(wording.masked, wording.masked_question, last, asks_time=asks_time)


CHECKS: dict[str, Callable[[Wording], bool]] = {
    "too short or too long": _wrong_length,
    "an identifier or a step": _leaks,
    "a name is lost": _lost_name,
    "a new name": _new_name,
    "the answer is in it": _gives_answer,
    "a number, date or unit is lost": _lost_quantity,
    "a new number, date or unit": _new_quantity,
    "another comparison": _other_comparison,
    "another direction": _other_direction,
    "another negation": _other_negation,
    "a kind is lost": _lost_kind,
    "a new condition": _new_condition,
    "a relation is lost": _lost_relation,
    "a new relation": _new_relation,
    "a relation is reversed": _reversed_relation,
    "says something twice": lambda wording: repeats(wording.masked) and not repeats(wording.masked_question),
    "not one question": lambda wording: not is_one_question(wording.masked),
    "not grammatical": lambda wording: is_broken(wording.masked),
    "asks for something else": _other_type,
}
"""The checks by the reason that they give, in the order in which they are made."""
