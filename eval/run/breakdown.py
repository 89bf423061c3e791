"""Results by what the gold graph looks like: type, structure, hops, chains (paper, Figure 6 and Table 6)."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.data.example import QUESTION_TYPES, STRUCTURES
from bgr.errors import BgrError
from eval.run.evaluate import Evaluation, Row, summarise

GROUPINGS = ("type", "structure", "hops", "chains", "facts")
"""Fields of `Row` to group by."""

FIXED_ORDER: dict[str, Sequence[str]] = {"type": QUESTION_TYPES, "structure": STRUCTURES}


def breakdown(evaluation: Evaluation, by: str) -> dict[str, dict[str, float]]:
    """`summarise` for each value of one grouping that occurs, in the paper's order or by number.

    Raises:
        BgrError: an unknown grouping.
    """
    if by not in GROUPINGS:
        raise BgrError(f"unknown grouping {by!r}, known: {', '.join(GROUPINGS)}")
    return {str(value): summarise(rows) for value, rows in _groups(evaluation.rows, by).items()}


def hops_by_chains(evaluation: Evaluation) -> dict[tuple[int, int], dict[str, float]]:
    """`summarise` for each pair ``(hops, chains)`` that occurs (paper, Table 6)."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in evaluation.rows:
        groups.setdefault((row.hops, row.chains), []).append(row)
    return {pair: summarise(groups[pair]) for pair in sorted(groups)}


def _groups(rows: Sequence[Row], by: str) -> dict[str | int, list[Row]]:
    groups: dict[str | int, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    order = FIXED_ORDER[by] if by in FIXED_ORDER else sorted(groups)
    return {value: groups[value] for value in order if value in groups}
