"""Reads a ``kb.json`` record by record; until it is asked for, a record is held as its text, a tenth of it parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bgr.kb.json_stream import JsonText, open_json


class Records(Mapping[str, Any]):
    """Id to record, in the order of the file; each access parses the record anew."""

    def __init__(self, raw: dict[str, bytes]) -> None:
        self._raw = raw

    def __getitem__(self, node: str) -> Any:
        return json.loads(self._raw[node])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def read_records(path: str | Path, *, progress: bool = False) -> Any:
    """What a file of the form ``{section: {id: record}}`` holds; a section that is no object comes as it is.

    Raises:
        DataError: the file is missing, cut off or not valid JSON; the message names file, line, column and record.
    """
    with open_json(path, progress=progress) as text:
        if text.peek() != "{":
            return text.value()[0]
        sections = {}
        for _ in text.entries("{", "}"):
            name = text.key()
            sections[name] = _section(text, name) if text.peek() == "{" else text.value()[0]
        text.finish()
        return sections


def _section(text: JsonText, name: str) -> Records:
    raw = {}
    for _ in text.entries("{", "}"):
        node = text.key()
        text.entry = f"{name} {node!r}"
        raw[node] = text.value()[1].encode()
    text.entry = ""
    return Records(raw)
