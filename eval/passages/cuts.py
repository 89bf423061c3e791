"""Questions of which something was left out, as the traces of their results tell."""

from __future__ import annotations

from collections import Counter

from eval.passages.found import QuestionResult
from eval.passages.score import SystemScores

ALL = "all"
FACTS = "facts"
"""The limit's name where facts had no room when the answer was asked for."""


def cut(found: QuestionResult) -> set[str]:
    """Names of the limits that were reached: ``limits`` of any step, and `FACTS` where one has ``left_out``."""
    names: set[str] = set()
    for step in found.trace:
        limits = step.get("limits")
        names |= set(map(str, limits)) if isinstance(limits, list | tuple) else set()
        names |= {FACTS} if step.get("left_out") else set()
    return names


def cuts(system: SystemScores) -> dict[str, int]:
    """How many questions reached any limit (`ALL`), and each, by its name."""
    names = [cut(one) for one in system.found]
    return {ALL: sum(map(bool, names)), **dict(sorted(Counter(name for one in names for name in one).items()))}
