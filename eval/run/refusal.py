"""Refusals of a system: its estimate that candidates hold complete evidence, and its empty graphs, on questions with
and without an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from bgr.data.example import MISSING, Example
from bgr.metrics.refusal import completeness_auc, completeness_calibration, found_at_false_alarms, refusal_scores
from bgr.retrievers.base import RetrievalResult

ANY = "any"
"""All questions without an answer, among the kinds of gaps."""


@dataclass(frozen=True)
class Gap:
    """Scores on `n` questions without an answer, each in 0 … 1: `completeness_auc` and `found_at_false_alarms` against
    all questions with an answer, and the share that was refused (the graph is empty)."""

    n: int
    auc: float
    found: float
    refused: float


@dataclass(frozen=True)
class Refusals:
    """Refusals of one system.

    Args:
        answerable: number of questions with an answer.
        refused: share of these that was refused.
        precision: share of the questions without an answer among those that were refused; see `refusal_scores`.
        ece: calibration error of completeness over all questions.
        gaps: scores on all questions without an answer (`ANY`), and on those of each kind in `MISSING` that occurs.
    """

    answerable: int
    refused: float
    precision: float
    ece: float
    gaps: Mapping[str, Gap]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, record: Any) -> Refusals | None:
        """The inverse of `to_json`; ``None`` for a record of another form."""
        try:
            checked = _RECORD.validate_python(record)
        except ValidationError:
            return None
        gaps = {kind: Gap(**gap) for kind, gap in checked["gaps"].items() if kind in (ANY, *MISSING)}
        return cls(**{**checked, "gaps": gaps}) if ANY in gaps else None


def gives_completeness(results: Sequence[RetrievalResult]) -> bool:
    """True if each result has an estimate of completeness, and there are results."""
    return bool(results) and all(result.completeness is not None for result in results)


def first_questions(examples: Sequence[Example], limit: int | None) -> tuple[list[Example], list[Example]]:
    """The first `limit` examples with an answer (all for ``None``), and those without an answer that stand before the
    next one, so that their share is that of the split."""
    right: list[Example] = []
    wrong: list[Example] = []
    for example in examples:
        if example.answerable and len(right) == limit:
            break
        (right if example.answerable else wrong).append(example)
    return right, wrong


def score_refusals(
    answerable: Sequence[RetrievalResult], unanswerable: Sequence[RetrievalResult], examples: Sequence[Example]
) -> Refusals:
    """The refusals of a system from its results; `examples` are those of the `unanswerable` ones. Neither is empty, and
    all results have an estimate of completeness."""
    right = _completeness(answerable)
    groups = {ANY: list(unanswerable)}
    for kind in MISSING:
        group = [result for result, one in zip(unanswerable, examples, strict=True) if one.missing == kind]
        groups |= {kind: group} if group else {}
    refused = [_is_refusal(result) for result in answerable]
    gaps = {}
    for kind, group in groups.items():
        wrong = _completeness(group)
        share = fmean(map(_is_refusal, group))
        gaps[kind] = Gap(len(group), completeness_auc(right, wrong), found_at_false_alarms(right, wrong), share)
    return Refusals(
        answerable=len(answerable),
        refused=fmean(refused),
        precision=refusal_scores(refused, [_is_refusal(result) for result in unanswerable]).precision,
        ece=completeness_calibration(right, _completeness(unanswerable)),
        gaps=gaps,
    )


def _completeness(results: Sequence[RetrievalResult]) -> list[float]:
    return [math.nan if result.completeness is None else result.completeness for result in results]


def _is_refusal(result: RetrievalResult) -> bool:
    return not result.graph.nodes


_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]


@with_config(ConfigDict(strict=True))
class _Gap(TypedDict):
    n: _Count
    auc: _Share
    found: _Share
    refused: _Share


@with_config(ConfigDict(strict=True))
class _Refusals(TypedDict):
    answerable: _Count
    refused: _Share
    precision: _Share
    ece: _Share
    gaps: dict[str, _Gap]


_RECORD = TypeAdapter(_Refusals)
