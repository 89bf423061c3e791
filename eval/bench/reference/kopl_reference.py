"""Adapter to the package `kopl` (0.0.5), the reference executor of KQA Pro's authors."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from bgr.data.kb.loading import either
from bgr.data.kb.program import Program
from bgr.errors import BgrError

Answer = str | list[str]


def kopl_records(records: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a ``kb.json`` with kopl's keys and normalized white space; kopl modifies its input."""
    return {
        "concepts": {
            i: {"name": _text(record["name"]), "subclassOf": list(either(record, "instanceOf", "subclassOf"))}
            for i, record in records["concepts"].items()
        },
        "entities": {
            i: {
                "name": _text(record["name"]),
                "instanceOf": list(either(record, "instanceOf", "subclassOf")),
                "attributes": [
                    {"key": _text(row["key"]), "value": _value(row["value"]), "qualifiers": _qualifiers(row)}
                    for row in record.get("attributes") or []
                ],
                "relations": [
                    {
                        "relation": _text(either(row, "relation", "predicate")),
                        "direction": row["direction"],
                        "object": row["object"],
                        "qualifiers": _qualifiers(row),
                    }
                    for row in record.get("relations") or []
                ],
            }
            for i, record in records["entities"].items()
        },
    }


def _qualifiers(row: Mapping[str, Any]) -> dict[str, Any]:
    return {_text(key): [_value(v) for v in values] for key, values in (row.get("qualifiers") or {}).items()}


def _value(record: Mapping[str, Any]) -> dict[str, Any]:
    raw = _text(record["value"]) if record["type"] == "string" else record["value"]
    return {"type": record["type"], "value": raw, "unit": record.get("unit", "1")}


def _text(raw: object) -> str:
    return " ".join(str(raw).split())


class KoplReference:
    """kopl's engine over one knowledge base, without its progress bars and output.

    Raises:
        BgrError: kopl is not installed.
    """

    def __init__(self, records: Mapping[str, Any]) -> None:
        engine = _kopl_module().KoPLEngine
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            self.engine = engine(kopl_records(records))

    def answer(self, program: Program) -> Answer:
        """kopl's answer, with its functions called along the program's dependencies. kopl's exceptions are passed
        on."""
        memory: list[Any] = []
        for step in program.steps:
            name = "QueryName" if step.function == "What" else step.function
            arguments = [memory[d] for d in step.dependencies]
            memory.append(getattr(self.engine, name)(*arguments, *step.inputs))
        last = memory[-1]
        return [str(part) for part in last] if isinstance(last, list) else str(last)


class _OrderedSet(dict[Any, None]):
    """A set in insertion order with the methods that kopl uses."""

    def __init__(self, items: Any = ()) -> None:
        super().__init__(dict.fromkeys(items))

    def __and__(self, other: _OrderedSet) -> _OrderedSet:
        return _OrderedSet(item for item in self if item in other)

    def __or__(self, other: _OrderedSet) -> _OrderedSet:  # type: ignore[override]
        return _OrderedSet([*self, *other])


@contextmanager
def ordered_sets() -> Iterator[None]:
    """Let kopl's sets keep insertion order, so that its lists and ties do not depend on hashes."""
    module = _kopl_module()
    module.set = _OrderedSet
    try:
        yield
    finally:
        del module.set


def _kopl_module() -> Any:
    try:
        import kopl.kopl as module
    except ImportError:
        raise BgrError(
            "the package kopl, the reference of this benchmark, is missing: pip install kopl==0.0.5"
        ) from None
    return module
