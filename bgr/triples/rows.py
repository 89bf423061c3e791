"""The three parts of a triple out of what a file or a language model holds, which may be anything."""

from __future__ import annotations

from typing import Any

from bgr.errors import DataError
from bgr.json_text import is_text, shown


class MalformedRowError(DataError):
    """A row that is no triple; `reason` is one of few phrases."""

    def __init__(self, reason: str, row: Any) -> None:
        super().__init__(f"{reason}: {shown(row)}")
        self.reason = reason


def three_parts(row: Any) -> tuple[str, str, str]:
    """Subject, predicate and object, each on one line.

    Raises:
        MalformedRowError: not a list of three texts that are not empty.
    """
    if not isinstance(row, list):
        raise MalformedRowError("not a list", row)
    if len(row) != 3:
        raise MalformedRowError("not three parts", row)
    if not all(is_text(part) for part in row):
        raise MalformedRowError("a part is not text", row)
    subject, predicate, object = (" ".join(part.split()) for part in row)
    if not (subject and predicate and object):
        raise MalformedRowError("an empty part", row)
    return subject, predicate, object
