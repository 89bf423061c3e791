"""Suggestions for misspelled names: "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from bgr.utils.text_layout import clean

MAX_NEIGHBORS = 1000
"""Number of files of a folder that a missing path is compared with."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The most similar of the known names, regardless of case; ``None`` if none is similar."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(word.casefold(), names, n=1)
    return names[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message, ``"; did you mean bm25?"``, or nothing if no known name is similar."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near is not None else ""


def did_you_mean_path(path: Path) -> str:
    """The same for a path that does not exist, by the names in its folder; nothing if the path exists or its folder
    cannot be read."""
    # the last part of "." and of "a/.." is no name
    if path.exists() or path.name in ("", ".."):
        return ""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), MAX_NEIGHBORS)]
    except OSError:
        return ""
    near = nearest(path.name, names)
    return f"; did you mean {clean(str(path.parent / near))}?" if near is not None else ""
