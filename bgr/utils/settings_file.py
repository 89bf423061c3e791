"""The JSON file beside a model's weights that holds what belongs to it: a dataclass, field by field."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import shown


def read_settings(path: Path, kind: type[Any], version: int, name: str) -> dict[str, Any]:
    """The fields that a settings file gives to the dataclass `kind`; their values are not looked at yet.

    Args:
        path: the file.
        kind: a dataclass with a field ``format``.
        version: the only format that is read.
        name: what the folder is, for messages.

    Raises:
        DataError: the file is missing or not JSON.
        CheckpointError: another format, or an unknown field.
    """
    record = read_json(path)
    if not isinstance(record, dict) or record.get("format") != version:
        raise CheckpointError(f"{path}: not a {name} of format {version}")
    unknown = sorted(set(record) - {field.name for field in fields(kind)})
    if unknown:
        raise CheckpointError(f"{path}: unknown field {shown(unknown[0])}")
    return record
