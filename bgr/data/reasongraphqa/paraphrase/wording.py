"""A further wording of a question, with its names masked, and what a question states apart from them: directions and
negations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.utils.quantities import find_quantities, measures

NAME = "§"
"""Stands for each name in a masked text, so that words of names are not read as words of the question."""


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
        """The texts that `masked` replaces, in their order."""
        return named(self.text, self._masks)

    @cached_property
    def named_in_question(self) -> list[str]:
        """The texts that `masked_question` replaces, in their order."""
        return named(self.question.text, self._masks)

    @cached_property
    def _masks(self) -> frozenset[str]:
        # no number of "ISO 3166-1 alpha-2 code" is compared with anything
        given = (given for step in self.question.program.steps for role, given in step.named_inputs if role == "key")
        return self.names.union(key for key in given if any(map(str.isdigit, key)))


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


def holds(text: str, name: str) -> bool:
    """True if the text has the name, in the same case, and not as a part of other words."""
    return _name(name).search(text) is not None


def mask(text: str, names: Iterable[str]) -> str:
    """The text with `NAME` for each of the names, the longest first, since a name may contain another."""
    return _any_name(names).sub(NAME, text)


def named(text: str, names: Iterable[str]) -> list[str]:
    """The names in the order in which `mask` replaces them."""
    return _any_name(names).findall(text)


def _any_name(names: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(set(names), key=lambda name: (-len(name), name))
    # without names there is nothing to match
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest)) or '(?!)'})(?!\w)")


def _name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


_UP = frozenset(
    "more most greater greatest larger largest longer longest higher highest bigger biggest better best later latest "
    "heavier heaviest denser densest harder hardest taller tallest wider widest newer newest maximum".split()
)
_DOWN = frozenset(
    "less least fewer fewest lesser smaller smallest shorter shortest lower lowest worse worst lighter lightest "
    "earlier earliest sooner soonest easier easiest older oldest minimum".split()
)
DIRECTIONS = _UP | _DOWN
_NEGATION = re.compile(r"\b(?:not|no|never|without|none|neither|nor|except|excluding|cannot|lacks?|fails?)\b|n['’]t\b")
_YES_OR_NO = re.compile(r"\byes or no\b|\bno or yes\b|\bor not\b", re.IGNORECASE)


def directions(masked: str) -> frozenset[str]:
    """``more``, ``less``, both or neither: the directions of comparisons without a number, as in "the longer one"."""
    text = masked
    for one in reversed(measures(masked)):
        text = text[: one.start] + text[one.end :]
    words = set(re.findall(r"\w+", text.lower()))
    return frozenset(name for name, known in (("more", _UP), ("less", _DOWN)) if words & known)


def negations(masked: str) -> int:
    """The number of words that negate."""
    return len(_NEGATION.findall(_YES_OR_NO.sub("", masked).lower()))
