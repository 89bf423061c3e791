"""How far people who mark the same facts agree: equal marks, Cohen's kappa for two, Fleiss' kappa for more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Agreement:
    """Marks of one criterion.

    Args:
        criterion: its name.
        facts: how many facts were marked.
        markers: how many people marked each.
        mean: mean of all marks.
        equal: share of the facts on which all markers agree, 0 to 1; ``None`` with one marker.
        kappa: agreement beyond chance, -1 to 1; ``None`` with one marker, or where all marks are the same and chance
            alone gives full agreement.
        kind: which kappa, ``cohen`` or ``fleiss``; ``None`` with one marker.
    """

    criterion: str
    facts: int
    markers: int
    mean: float
    equal: float | None
    kappa: float | None
    kind: str | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        found = f"{self.criterion.ljust(13)} mean {self.mean:.3f}"
        if self.kind is None:
            return found
        kappa = "undefined (all marks are the same)" if self.kappa is None else f"{self.kappa:.3f}"
        return f"{found}, equal {self.equal:.1%}, kappa ({self.kind.capitalize()}) {kappa}"


def agreement(criterion: str, marks: Sequence[Sequence[int]]) -> Agreement:
    """Agreement on one criterion.

    Args:
        criterion: its name.
        marks: for each fact (at least one), one mark a marker, the markers in the same order.
    """
    markers = len(marks[0])
    everything = [mark for row in marks for mark in row]
    mean = sum(everything) / len(everything)
    if markers == 1:
        return Agreement(criterion, len(marks), 1, mean, None, None, None)
    equal = sum(len(set(row)) == 1 for row in marks) / len(marks)
    one_mark = len(set(everything)) == 1
    kappa = None if one_mark else cohen_kappa(marks) if markers == 2 else fleiss_kappa(marks)
    return Agreement(criterion, len(marks), markers, mean, equal, kappa, "cohen" if markers == 2 else "fleiss")


def cohen_kappa(marks: Sequence[Sequence[int]]) -> float:
    """Cohen's kappa (1960) of two markers; 1 full agreement, 0 chance. Undefined if all marks are the same."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([first for first, _ in marks], [second for _, second in marks]))


def fleiss_kappa(marks: Sequence[Sequence[int]]) -> float:
    """Fleiss' kappa (1971): (P - P_e) / (1 - P_e), 1 full agreement, 0 chance.

    P is the share of equal pairs of markers, mean over the facts; P_e the sum of the squared shares of each mark.

    Raises:
        ValueError: fewer than two markers, unequal numbers of them, or all marks the same (chance agrees fully).
    """
    markers = len(marks[0]) if marks else 0
    if markers < 2 or any(len(row) != markers for row in marks):
        raise ValueError("Fleiss' kappa needs two or more marks a fact, as many for each")
    counts = [Counter(row) for row in marks]
    pairs = markers * (markers - 1)
    observed = sum(sum(n * (n - 1) for n in row.values()) / pairs for row in counts) / len(marks)
    total: Counter[int] = sum(counts, Counter())
    if len(total) == 1:
        raise ValueError("kappa is undefined: all marks are the same")
    chance = sum((n / total.total()) ** 2 for n in total.values())
    return (observed - chance) / (1 - chance)
