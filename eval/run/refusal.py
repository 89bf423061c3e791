"""Refusals of a system: its estimate that candidates hold complete evidence, and its empty graphs, on questions with
and without an answer."""

from __future__ import annotations

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
    all questions with an answer (``None`` if the system does not estimate completeness), and the share that was refused
    (the graph is empty)."""

    n: int
    auc: float | None
    found: float | None
    refused: float


@dataclass(frozen=True)
class Refusals:
    """Refusals of one system.

    Args:
        answerable: number of questions with an answer.
        refused: share of these that was refused.
        precision: share of the questions without an answer among those that were refused; see `refusal_scores`, whose
            recall is `refused` of all gaps.
        ece: calibration error of completeness over all questions; ``None`` if the system does not estimate it.
        gaps: scores on all questions without an answer (`ANY`), and on those of each kind in `MISSING` that occurs.
    """

    answerable: int
    refused: float
    precision: float
    ece: float | None
    gaps: Mapping[str, Gap]

    @property
    def never(self) -> bool:
        """True if the system refused nothing and does not estimate completeness."""
        return self.ece is None and not self.refused and not self.gaps[ANY].refused

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
        if ANY not in gaps:
            return None
        return cls(checked["answerable"], checked["refused"], checked["precision"], checked["ece"], gaps)


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
    """The refusals of a system from its results, of which there are some of either kind; `examples` are those of the
    `unanswerable` ones."""
    kinds = [example.missing for example in examples]
    groups = {ANY: list(unanswerable)}
    for kind in MISSING:
        if kind in kinds:
            groups[kind] = [result for result, other in zip(unanswerable, kinds, strict=True) if other == kind]
    refused = [_is_refusal(result) for result in answerable]
    right, wrong = _completeness(answerable), _completeness(unanswerable)
    return Refusals(
        answerable=len(answerable),
        refused=fmean(refused),
        precision=refusal_scores(refused, [_is_refusal(result) for result in unanswerable]).precision,
        ece=None if right is None or wrong is None else completeness_calibration(right, wrong),
        gaps={kind: _gap(right, group) for kind, group in groups.items()},
    )


def _gap(answerable: list[float] | None, group: Sequence[RetrievalResult]) -> Gap:
    """The scores of one group against the completeness of the questions with an answer."""
    refused, wrong = fmean(map(_is_refusal, group)), _completeness(group)
    if answerable is None or wrong is None:
        return Gap(len(group), None, None, refused)
    auc, found = completeness_auc(answerable, wrong), found_at_false_alarms(answerable, wrong)
    return Gap(len(group), auc, found, refused)


def _completeness(results: Sequence[RetrievalResult]) -> list[float] | None:
    """The completeness of all results; ``None`` if one has none."""
    found = [result.completeness for result in results if result.completeness is not None]
    return found if len(found) == len(results) else None


def _is_refusal(result: RetrievalResult) -> bool:
    return not result.graph.nodes


_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1)]


@with_config(ConfigDict(strict=True))
class _Gap(TypedDict):
    n: _Count
    auc: _Share | None
    found: _Share | None
    refused: _Share


@with_config(ConfigDict(strict=True))
class _Refusals(TypedDict):
    answerable: _Count
    refused: _Share
    precision: _Share
    ece: _Share | None
    gaps: dict[str, _Gap]


_RECORD = TypeAdapter(_Refusals)
