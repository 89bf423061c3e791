"""Checks that a paraphrase of a question asks for the same: names, quantities, directions, negations, words, form.

All of them compare texts; none of them needs a model. They rather refuse a good paraphrase than accept a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.form import asks_for_another, has_type, is_broken, is_one_question, repeats
from bgr.data.reasongraphqa.paraphrase.relations import ROLES
from bgr.data.reasongraphqa.paraphrase.structure import (
    alternatives,
    beside,
    compares_another,
    dated,
    is_regrouped,
    objects,
)
from bgr.data.reasongraphqa.paraphrase.vocabulary import ideas, lost_ideas, new_ideas
from bgr.data.reasongraphqa.paraphrase.wording import Measure, directions, holds, mask, measures, named, negations
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
    def named(self) -> list[str]:
        """What `masked` replaces, in this order."""
        return named(self.text, self._masks)

    @cached_property
    def named_in_question(self) -> list[str]:
        """What `masked_question` replaces, in this order."""
        return named(self.question.text, self._masks)

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


def _lost_words(wording: Wording) -> bool:
    return bool(lost_ideas(wording.masked, wording.masked_question))


def _new_words(wording: Wording) -> bool:
    return bool(new_ideas(wording.masked, wording.masked_question, wording.question.program))


_COORDINATED = re.compile(r"\b(\w+) and (?:also )?(\w+)\b")
_AGENT = r"(?: has| have)?(?: also)? (\w+(?:ed|ote))\b"


def _roles(text: str) -> frozenset[str]:
    return ideas(text) & ROLES


def _reversed_relation(wording: Wording) -> bool:
    """True for "produced by Persona", where the program asks who produced it, and for "director of Bo Lind".

    Also for "that Sweden discovered" and "Bo Lind's film" instead of what happened in Sweden and what Bo Lind did for
    the film, and for one who "directed and produced" what another one produced.
    """
    for match in _COORDINATED.finditer(wording.masked):
        if _roles(match[1]) and _roles(match[2]) and match[0] not in wording.masked_question:
            return True
    steps = wording.question.program.steps
    for number, step in enumerate(steps):
        if step.function == "Find":
            users = [one.inputs for one in steps if one.function == "Relate" and number in one.dependencies]
            if any(match not in wording.question.text for match in _reversals(wording.text, step.inputs[0], users)):
                return True
    return False


def _reversals(text: str, name: str, users: Sequence[Sequence[str]]) -> Iterator[str]:
    """The places of a text that give a name another role than the steps that start from it.

    Args:
        users: the predicate and direction of each of these steps.
    """
    given = re.escape(name)
    # whoever is "X" in "director of X" has something done to it; in "country of discovery" nobody is said to discover
    agents = {role for key, way in users if way == "backward" and " of " not in key for role in _roles(key)}
    for match in re.finditer(rf"(?<!\w)(?<!of ){given}{_AGENT}", text):
        if _roles(match[1]) - agents:
            yield match[0]
    for predicate, direction in users:
        pattern = rf"(\w+) by {given}(?!\w)" if direction == "forward" else rf"(\w+(?:er|or)s?) of {given}(?!\w)"
        yield from (match[0] for match in re.finditer(pattern, text) if _roles(match[1]) & _roles(predicate))
        if direction == "backward":
            yield from (match[0] for match in re.finditer(rf"(?<!\w){given}['’]s?(?!\w)", text))


_LISTS = ("SelectBetween", "SelectAmong", "QueryRelation")


def _moved(wording: Wording) -> bool:
    """True if a name from which a relation leads stands beside another one, or two names change their places.

    In "the film with X was written by Y" it does so in the question, too: then the word before it must be the same. If
    the order of names changes, so must that before names without relations and before names that have the same one, but
    in another direction. Right after "serves" or "directed by" stands no name that has another role.
    """
    steps = wording.question.program.steps
    users: dict[str, set[tuple[str, ...]]] = {}
    for step in steps:
        if step.function == "Relate" and (start := steps[step.dependencies[0]]).function == "Find":
            users.setdefault(start.inputs[0], set()).add(step.inputs)
    roles = {name: frozenset().union(*(_roles(key) for key, _ in ways)) for name, ways in users.items()}
    asked = list(beside(wording.masked_question, wording.named_in_question))
    before = {(name, word) for name, word, _ in asked}
    exchanged = _exchanges_names(wording)
    for name, word, nearest in beside(wording.masked, wording.named):
        same = (name, word) in before
        own = roles.get(name, frozenset())
        if own and not nearest <= own and not (same and word != "by"):
            return True
        unclear = not own or any(own & roles[other] and users[other] != users[name] for other in roles)
        if exchanged and unclear and not same and name in wording.names:
            return True
    pairs = objects(wording.masked, wording.named) - objects(wording.masked_question, wording.named_in_question)
    return any(role not in roles.get(name, ()) for role, name in pairs)


def _exchanges_names(wording: Wording) -> bool:
    """True if the names have another order than in the question. Those of a list may have any."""
    *steps, last = wording.question.program.steps
    if last.function in _LISTS and all(step.function == "Find" for step in steps):
        return False
    said, asked = (
        list(dict.fromkeys(name for name in names if name in wording.names))
        for names in (wording.named, wording.named_in_question)
    )
    return said != asked


def _regrouped(wording: Wording) -> bool:
    last = wording.question.program.steps[-1].function
    if dated(wording.masked, wording.named) - dated(wording.masked_question, wording.named_in_question):
        return True
    return is_regrouped(wording.masked, wording.masked_question, last) or _moves_across_or(wording)


def _moves_across_or(wording: Wording) -> bool:
    """True if a name or quantity leaves its side of an "or"; "X or Y" may be "of X and Y" if it is nothing else."""
    said = alternatives(wording.masked, wording.named)
    asked = alternatives(wording.masked_question, wording.named_in_question)
    if len(said) == len(asked):
        return set(said) != set(asked)
    return any(len(side) > 1 for side in max(said, asked, key=len))


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
    if said != (asked or chosen):
        return True
    *steps, last = wording.question.program.steps
    others = [given for step in steps for role, given in step.named_inputs if role == "key"]
    return bool(chosen) and compares_another(wording.masked, last.inputs[0], others)


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
    times = find_quantities(answer)
    asks_time = len(times) == 1 and (times[0].date or len(answer) == 4)
    asked, said = wording.masked_question, wording.masked
    return asks_for_another(said, asked, last) or not has_type(said, asked, last, asks_time=asks_time)


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
    "a relation is reversed": _reversed_relation,
    "says something twice": lambda wording: repeats(wording.masked) and not repeats(wording.masked_question),
    "not one question": lambda wording: not is_one_question(wording.masked),
    "not grammatical": lambda wording: is_broken(wording.masked),
    "asks for something else": _other_type,
    "words are lost": _lost_words,
    "new words": _new_words,
    "a name is beside another relation": _moved,
    "conditions are joined otherwise": _regrouped,
}
"""The checks by the reason that they give, in the order in which they are made."""
