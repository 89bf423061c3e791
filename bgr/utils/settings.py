"""Settings in JSON files: dataclasses whose fields pydantic checks, with all problems in one line.

A dataclass states the limits of its fields as annotations, refuses unknown fields and has a version::

    @dataclass(frozen=True)
    class ReaderSettings:
        __pydantic_config__ = STRICT

        max_tokens: Annotated[int, Field(ge=1, le=100_000)] = 512
        format: Literal[1] = 1
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import read_json, write_text
from bgr.utils.checksums import check_file
from bgr.utils.json_utils import repr_short

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""Values are not converted (a text is not a number, 1 is not true), and unknown fields are refused."""

Kind = TypeVar("Kind")


def save_settings(path: Path, settings: Any) -> None:
    """Write a dataclass with sorted fields; DataError if the file cannot be written."""
    write_text(path, json.dumps(asdict(settings), indent=2, sort_keys=True) + "\n")


def load_settings(path: Path, kind: type[Kind], name: str) -> Kind:
    """Read a dataclass with a field ``format``, whose default is the only accepted version.

    Raises:
        DataError: the file is missing or not JSON.
        CheckpointError: not a `name` of this version, fields that are unknown, missing or not allowed, or the file is
            not as it was written (`bgr.utils.checksums`).
    """
    record = read_json(path)
    version: Any = next(one.default for one in fields(kind) if one.name == "format")  # type: ignore[arg-type]
    if not isinstance(record, dict) or record.get("format") != version:
        found = record.get("format") if isinstance(record, dict) else None
        older = isinstance(found, int) and not isinstance(found, bool) and 0 < found < version
        todo = f"; it is of format {found}, which has other parts: train it again" if older else ""
        raise CheckpointError(f"{path}: not a {name} of format {version}{todo}")
    if wrong := problems(kind, record):
        raise CheckpointError(f"{path}: {'; '.join(wrong)}")
    check_file(path)
    return cast(Kind, validated(kind, record))


def validated(kind: Any, value: Any) -> Any:
    """The value as its type has it; pydantic's ValidationError if it has `problems`."""
    # read as JSON, where objects may become dataclasses and lists tuples although nothing else is converted
    return _adapter(kind).validate_json(json.dumps(value, default=repr))


def problems(kind: Any, value: Any) -> list[str]:
    """One text for each part of a JSON value that its type does not allow: the field, its value and what is allowed."""
    try:
        validated(kind, value)
    except ValidationError as error:
        return [_problem(one) for one in error.errors(include_url=False)]
    return []


def one_of(allowed: Collection[str]) -> Callable[[str], str]:
    """A validator for ``Annotated[str, AfterValidator(one_of(…))]``."""

    def check(text: str) -> str:
        if text not in allowed:
            raise ValueError(", ".join(allowed))
        return text

    return check


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _problem(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "[key]") or "the value"
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"unknown field {repr_short(place)}"
    if error["type"] in ("missing", "missing_argument"):
        return f"{place} is missing"
    allowed = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return f"{place} is {repr_short(error['input'])}, allowed: {allowed}"
