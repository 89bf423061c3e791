"""A corpus as a file of JSON lines: ``{"id": "…", "title": "…", "text": "…"}``, one passage a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.json_text import is_text, parse_json, shown
from bgr.search.corpus import Corpus, Passage
from bgr.search.writing import replaced

ALLOWED = 'a line is {"id": "…", "title": "…", "text": "…"}, the title may be left out'


def load_corpus(path: str | Path) -> Corpus:
    """Read a corpus; empty lines count for nothing.

    Raises:
        DataError: the file cannot be read, a line is no passage, or an id stands twice; the message names the line.
    """
    lines: dict[str, int] = {}
    passages = []
    for number, passage in _read(Path(path)):
        first = lines.setdefault(passage.id, number)
        if first != number:
            raise DataError(
                f"{path}:{number}: the id {shown(passage.id)} stands in line {first} already; ids are unique"
            )
        passages.append(passage)
    return Corpus(passages)


def save_corpus(corpus: Sequence[Passage], path: str | Path) -> None:
    """Write passages so that `load_corpus` reads the same; what was under the name is replaced at the end.

    Raises:
        DataError: the file cannot be written, or a text holds half of a surrogate pair.
    """
    for passage in corpus:
        for key, value in vars(passage).items():
            if not is_text(value):
                raise DataError(f"{path}: passage {shown(passage.id)}: {key} must be text that UTF-8 can hold")
    with replaced(path) as file:
        for passage in corpus:
            file.write(json.dumps(vars(passage), ensure_ascii=False) + "\n")


def _read(path: Path) -> Iterator[tuple[int, Passage]]:
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}:{number}"
                    yield number, _passage(parse_json(line, where), where)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def _passage(row: Any, where: str) -> Passage:
    if not isinstance(row, dict):
        raise DataError(f"{where}: {shown(row)} is no passage; {ALLOWED}")
    unknown = sorted(row.keys() - {"id", "title", "text"})
    if unknown:
        raise DataError(f"{where}: unknown key {shown(unknown[0])}; {ALLOWED}")
    row = {"title": "", **row}
    for key in ("id", "text", "title"):
        if not is_text(row.get(key)):
            raise DataError(f"{where}: {key} is {shown(row[key]) if key in row else 'missing'}; {ALLOWED}")
    return Passage(**row)
