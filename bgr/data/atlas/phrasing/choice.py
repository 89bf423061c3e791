"""Random choice of templates: plain ones are likelier, and each choice is recorded."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache

from bgr.data.atlas.phrasing.phrasebook import brevity, trailing

LONG = 45
"""Characters; a phrase of at least this length comes last in its template, if there is such a template."""
LATE = 0.03
"""Weight of a template that goes on after a long phrase."""
ELLIPTIC = 0.05
"""Weight of a question that does not begin with a question word ("{x} lasts how many minutes?")."""
DIRECT = 1.5
"""Weight of a question with one of people's commonest beginnings."""

_COMMON = ("What is the ", "When ", "How many ")
_QUESTION = re.compile(r"((at|by|from|in|on|to|under|with) )?(how|what|when|where|which|who|whom|whose)\b", re.I)


class Wordings:
    """Chooses templates and records them. All random choices come from `rng`.

    ``used`` has the chosen templates in order, without repetition, each with its table:
    ``relations/director/forward/vp: [made|made|make] {x}``.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.used: dict[str, None] = {}

    def short(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A template; shorter ones are likelier.

        Args:
            words: placeholders with the texts that will fill them. A long text mostly comes last.
        """
        return self._pick(table, templates, brevity(templates), words)

    def ask(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A whole question; those that begin with a question word are likelier."""
        return self._pick(table, templates, [_directness(template) for template in templates], words)

    def plain(self, table: str, templates: Sequence[str], **words: str) -> str:
        """A template of a list that begins with the plainest: the n-th has the weight n^-1.5."""
        return self._pick(table, templates, [n**-1.5 for n in range(1, len(templates) + 1)], words)

    def _pick(self, table: str, templates: Sequence[str], weights: list[float], words: dict[str, str]) -> str:
        for place, text in words.items():
            if len(text) >= LONG:
                weights = [w * LATE if trailing(t, place) else w for t, w in zip(templates, weights, strict=True)]
        chosen = self.rng.choices(templates, weights)[0]
        self.used[f"{table}: {chosen}"] = None
        return chosen


@cache
def _directness(template: str) -> float:
    if template.startswith(_COMMON):
        return DIRECT
    return 1.0 if _QUESTION.match(template) else ELLIPTIC
