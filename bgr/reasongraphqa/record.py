"""One record of the dataset's JSON lines, checked field by field before it becomes an `Example`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bgr.errors import DataError
from bgr.example import Example

STEP_FIELDS = ("function", "dependencies", "inputs")


def example_of(record: Any) -> Example:
    """The sample that a record holds, in the form of `Example.to_json`; other fields are ignored.

    Raises:
        DataError: no object, a field that is missing or not of its type, a graph that breaks a constraint, or a
            structure that is not the graph's; the message names the sample and what is allowed.
    """
    if not isinstance(record, Mapping):
        raise DataError("a line must hold one object")
    for name, (check, allowed) in _CHECKS.items():
        if name in record and not check(record[name]):
            raise DataError(f"sample {record.get('id', '?')!r}: {name} is {_short(record[name])}, allowed: {allowed}")
    example = Example.from_json(record)
    if record.get("structure", example.structure) != example.structure:
        raise DataError(
            f"sample {example.id!r}: structure is {_short(record['structure'])}, but its graph is {example.structure}"
        )
    return example


def _is_text(value: Any) -> bool:
    """A string that can be written as UTF-8: JSON may hold half of a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_are_numbers(pair) and len(pair) == 2 for pair in value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(number) is int and abs(number) < 2**63 for number in value)


def _are_steps(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(step, Mapping)
        and set(step) == set(STEP_FIELDS)
        and _is_text(step["function"])
        and _are_numbers(step["dependencies"])
        and _are_texts(step["inputs"])
        for step in value
    )


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id": (_is_text, "a text"),
    "question": (_is_text, "a text"),
    "facts": (_are_texts, "a list of texts"),
    "edges": (_are_pairs, "a list of pairs of integers"),
    "answer": (_is_text, "a text"),
    "program": (_are_steps, f"a list of steps {{{', '.join(STEP_FIELDS)}}} with a text, integers and texts"),
    "type": (_is_text, "a text"),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
