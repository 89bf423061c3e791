"""One record of the dataset's JSON lines, checked field by field before it becomes an `Example`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bgr.data.example import Example
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, shown

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
            raise DataError(
                f"sample {shown(record.get('id', '?'))}: {name} is {shown(record[name])}, allowed: {allowed}"
            )
    example = Example.from_json(record)
    if record.get("structure", example.structure) != example.structure:
        said = shown(record["structure"])
        raise DataError(f"sample {shown(example.id)}: structure is {said}, but its graph is {example.structure}")
    return example


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(is_text, value))


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_are_numbers(pair) and len(pair) == 2 for pair in value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(type(number) is int and abs(number) < 2**63 for number in value)


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
    "question": (is_text, "a text"),
    "facts": (_are_texts, "a list of texts"),
    "edges": (_are_pairs, "a list of pairs of integers"),
    "answer": (is_text, "a text"),
    "program": (_are_steps, f"a list of steps {{{', '.join(STEP_FIELDS)}}} with a text, integers and texts"),
    "type": (is_text, "a text"),
}
