"""Checks that a paraphrase of a question asks for the same: names, quantities, directions, negations, words, form.

All of them compare texts; none of them needs a model. They rather refuse a good paraphrase than accept a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.attested import Attested
from bgr.data.reasongraphqa.paraphrase.form import asks_for_another, has_type, is_broken, is_one_question, repeats
from bgr.data.reasongraphqa.paraphrase.roles import moves_name, regroups, reverses_relation
from bgr.data.reasongraphqa.paraphrase.structure import compares_another
from bgr.data.reasongraphqa.paraphrase.vocabulary import lost_ideas, new_ideas
from bgr.data.reasongraphqa.paraphrase.wording import Wording, directions, holds, mask, negations
from bgr.utils.quantities import MONTHS, Measure, find_quantities, measures

MAX_CHARACTERS = 400
MIN_WORDS = 3
SHORTEST, LONGEST, SPARE = 0.5, 1.6, 4
"""Words of a paraphrase: at least this share of the question's words, at most that share and these more."""


UNATTESTED = "words in an unusual order"


def find_problem(
    question: Question, text: str, others: Iterable[str] = (), attested: Attested | None = None
) -> str | None:
    """The reason why a text is no paraphrase of the question, or ``None``: the first that applies.

    Args:
        others: wordings of the question that are accepted already.
        attested: the sequences of words that a wording may have (default: any).
    """
    text = " ".join(text.split())
    known = {normalized(other) for other in (question.text, *others)}
    if not text:
        return "empty"
    if normalized(text) in known:
        return "a copy"
    wording = Wording(question, text)
    reason = next((reason for reason, is_wrong in CHECKS.items() if is_wrong(wording)), None)
    if reason is None and attested is not None and not attested.has(question, text):
        return UNATTESTED
    return reason


def normalized(text: str) -> str:
    """The words of a text without case, punctuation and articles."""
    return " ".join(word for word in re.findall(r"\w+", text.casefold()) if word not in ("a", "an", "the"))


# -- names ------------------------------------------------------------------------------------------------------------


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
    "a relation is reversed": reverses_relation,
    "says something twice": lambda wording: repeats(wording.masked) and not repeats(wording.masked_question),
    "not one question": lambda wording: not is_one_question(wording.masked),
    "not grammatical": lambda wording: is_broken(wording.masked),
    "asks for something else": _other_type,
    "words are lost": _lost_words,
    "new words": _new_words,
    "a name is beside another relation": moves_name,
    "conditions are joined otherwise": regroups,
}
"""The checks by the reason that they give, in the order in which they are made."""
