"""The prompts of SyncGE and GEAR: one file a step beside this module, with ``{{named}}`` places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from bgr.search.corpus import Passage

_PLACE = re.compile(r"\{\{(\w+)\}\}")


@cache
def _template(step: str) -> str:
    return files("bgr.gear").joinpath("prompts", f"{step}.md").read_text(encoding="utf-8").strip()


def prompt(step: str, **values: str) -> str:
    """The text of a step with its places filled, in one pass: braces in a value stay as they are.

    Raises:
        KeyError: the step's file names a place that has no value.
    """
    return _PLACE.sub(lambda place: values[place[1]], _template(step))


def passage_lines(passages: Iterable[Passage]) -> str:
    """Numbered passages as the model reads them."""
    return "\n\n".join(f"[{number}] {passage.whole}" for number, passage in enumerate(passages, start=1))
