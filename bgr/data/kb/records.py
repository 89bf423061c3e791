"""Reads a ``kb.json`` record by record; until it is asked for, a record is held as its text, a tenth of it parsed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.utils.json_stream import JsonText, open_json
from bgr.utils.json_utils import is_text, shown

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""One half of a character that JSON writes as two; whether the other is there, the parsed record tells."""


class Records(Mapping[str, Any]):
    """Id to record, in the order of the file; each access parses the record anew."""

    def __init__(self, raw: dict[str, bytes], where: str) -> None:
        self._raw = raw
        self._where = where

    def __getitem__(self, node: str) -> Any:
        try:
            return json.loads(self._raw[node])
        except RecursionError:  # the record was as deep as the reader of the file could go
            raise DataError(f"{self._where} {shown(node)}: nested too deeply") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def read_records(path: str | Path, *, progress: bool = False) -> Any:
    """What a file of the form ``{section: {id: record}}`` holds; a section that is no object comes as it is.

    Raises:
        DataError: the file is missing, cut off or not valid JSON, or an id or a section stands twice; the message names
            file, line, column and record.
    """
    with open_json(path, progress=progress) as text:
        if text.peek() != "{":
            return text.value()[0]
        sections: dict[str, Any] = {}
        for _ in text.entries("{", "}"):
            name = text.key()
            if name in sections:
                text.fail(f"{shown(name)} stands here for the second time")
            sections[name] = _section(text, name) if text.peek() == "{" else text.value()[0]
        text.finish()
        return sections


def _section(text: JsonText, name: str) -> Records:
    raw: dict[str, bytes] = {}
    for _ in text.entries("{", "}"):
        node = text.key()
        text.entry = f"{name} {shown(node)}"
        if node in raw:
            text.fail("stands here for the second time, ids are unique")
        value, record = text.value()
        if not is_text(node) or (_HALF.search(record) and _has_half(value)):
            text.fail("half of a surrogate pair, which is no character")
        raw[node] = record.encode()
    text.entry = ""
    return Records(raw, f"{text.where}: {name}")


def _has_half(value: Any) -> bool:
    """Whether a text in a value cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return True
    return False
