"""A sample of a dataset: a question, its candidate facts and the gold evidence graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.json_utils import MAX_TEXT, is_text, repr_short, text_problem

QUESTION_TYPES = ("query", "comparison", "count", "boolean", "qualifier")
STRUCTURES = ("SC-SH", "SC-MH", "MC-SH", "MC-MH")
STEP_FIELDS = ("function", "dependencies", "inputs")
MISSING = ("one", "all")
"""Whether a question without an answer lacks one of several needed facts, or all of them (or the only one)."""


@dataclass(frozen=True)
class Example:
    """A question over its target database (the candidate facts).

    Args:
        id: identifier of the sample, unique in its dataset.
        question: text of the question.
        facts: candidate sentences (the target database); ``graph`` numbers them from 0.
        graph: the gold evidence graph.
        answer: the annotated answer.
        program: the KoPL program in KQA Pro's form, ``[{function, dependencies, inputs}, …]``; empty if unknown.
        type: one of ``QUESTION_TYPES`` (paper, section 3.3).
        missing: one of ``MISSING`` for a question without an answer; ``None`` if it has one, or if this is unknown.
    """

    id: str
    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph
    answer: str
    program: tuple[Mapping[str, Any], ...]
    type: str
    missing: str | None = None

    def __post_init__(self) -> None:
        if self.graph.nodes and self.graph.nodes[-1] >= len(self.facts):
            raise DataError(
                f"sample {repr_short(self.id)}: the graph names fact {repr_short(self.graph.nodes[-1])}, "
                f"but there are {len(self.facts)} candidates"
            )
        if self.type not in QUESTION_TYPES:
            raise DataError(
                f"sample {repr_short(self.id)}: unknown type {repr_short(self.type)}, known: "
                f"{', '.join(QUESTION_TYPES)}"
            )
        if self.missing is not None and (self.graph.nodes or self.missing not in MISSING):
            gold = f"{len(self.graph.nodes)} gold facts"
            raise DataError(
                f"sample {repr_short(self.id)}: missing is {repr_short(self.missing)} with {gold}, allowed: "
                f"{', '.join(MISSING)}, without gold facts"
            )

    @property
    def answerable(self) -> bool:
        """False if the candidates do not support an answer: the gold graph is empty."""
        return bool(self.graph.nodes)

    @property
    def answer_unknown(self) -> bool:
        """True if there is an answer, but the data do not give it, as own data need not."""
        return self.answerable and not self.answer

    @property
    def structure(self) -> str:
        return self.graph.structure

    def to_json(self) -> dict[str, Any]:
        """A record for JSON; ``answerable`` and ``structure`` follow from the graph and help people and filters.
        ``missing`` is left out if it is ``None``."""
        return {
            "id": self.id,
            "question": self.question,
            "facts": list(self.facts),
            "edges": self.graph.to_json(),
            "answer": self.answer,
            "answerable": self.answerable,
            "program": [dict(step) for step in self.program],
            "type": self.type,
            "structure": self.structure,
            **({} if self.missing is None else {"missing": self.missing}),
        }

    @classmethod
    def from_json(cls, record: Any) -> Example:
        """The inverse of `to_json`, which checks every field; other fields are ignored.

        Raises:
            DataError: not an object, a field is missing or has another type, the graph violates a constraint, or
                ``answerable`` or the structure is not the graph's; the message names the sample and what is allowed.
        """
        if not isinstance(record, Mapping):
            raise DataError("a line must have one object")
        for name, (check, allowed) in _CHECKS.items():
            if name not in record:
                raise _refusal(record, f"field {name!r} is missing")
            if not check(record[name]):
                raise _refusal(record, f"{name} is {repr_short(record[name])}, allowed: {allowed}")
        try:
            graph = EvidenceGraph([(a, b) for a, b in record["edges"]])
        except BgrError as error:
            raise _refusal(record, str(error)) from error
        answerable = bool(graph.nodes)
        if record.get("answerable", answerable) is not answerable:
            raise _refusal(
                record, f"answerable is {repr_short(record['answerable'])}, but its graph has {len(graph.nodes)} facts"
            )
        if record.get("structure", graph.structure) != graph.structure:
            raise _refusal(
                record, f"structure is {repr_short(record['structure'])}, but its graph is {graph.structure}"
            )
        id, question, answer, kind = (record[name] for name in ("id", "question", "answer", "type"))
        program, missing = tuple(record["program"]), record.get("missing")
        return cls(id, question, tuple(record["facts"]), graph, answer, program, kind, missing)


def _refusal(record: Mapping[str, Any], message: str) -> DataError:
    return DataError(f"sample {repr_short(record.get('id', '?'))}: {message}")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(is_text, value))


def _is_short(value: Any) -> bool:
    return not text_problem(value)


def _are_facts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_short, value))


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(number) is int and abs(number) < 2**63 for number in value)


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_are_numbers(pair) and len(pair) == 2 for pair in value)


def _are_steps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(step, Mapping)
        and set(step) == set(STEP_FIELDS)
        and is_text(step["function"])
        and _are_numbers(step["dependencies"])
        and _are_texts(step["inputs"])
        for step in value
    )


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id": (is_text, "a text"),
    "question": (_is_short, f"a text of at most {MAX_TEXT:,} characters"),
    "facts": (_are_facts, f"a list of texts of at most {MAX_TEXT:,} characters"),
    "edges": (_are_pairs, "a list of pairs of integers"),
    "answer": (is_text, "a text"),
    "program": (_are_steps, f"a list of steps {{{', '.join(STEP_FIELDS)}}} with a text, integers and texts"),
    "type": (is_text, "a text"),
}
"""The fields of a record: the check of a value, and what the check allows."""
