"""The prompts of SyncGE and GEAR: one file a step beside this module."""

from __future__ import annotations

from collections.abc import Iterable

from bgr.llm.prompts import Prompts
from bgr.search.corpus import Passage

prompt = Prompts("bgr.gear")


def passage_lines(passages: Iterable[Passage]) -> str:
    """Numbered passages as the model reads them."""
    return "\n\n".join(f"[{number}] {passage.whole}" for number, passage in enumerate(passages, start=1))
