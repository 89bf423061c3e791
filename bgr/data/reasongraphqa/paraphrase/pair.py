"""A question beside a further wording of it, both also with their names masked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question
from bgr.data.reasongraphqa.paraphrase.wording import mask, named
from bgr.utils.quantities import find_quantities


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
