"""Measurements of `bgr ablate candidates`: one point for each system, kind of filling and number of candidates.

Each system gets the same questions, each with its gold facts and exactly N candidates
(`bgr.data.reasongraphqa.candidate_sets`), through `Retriever.retrieve` alone. Time and memory are those of these calls,
with `batch_size` questions each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import torch
from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.reasongraphqa.candidate_sets import CandidateSets
from bgr.errors import BgrError
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.retrievers.base import KEPT, RetrievalResult, Retriever
from bgr.utils.devices import pick_device
from bgr.utils.json_utils import one_line
from eval.run.evaluate import query_of
from eval.run.memory import PeakMemory


@dataclass(frozen=True)
class Setting:
    """A kind of filling and a number of candidates; both are ``None`` for the questions' own candidates."""

    fill: str | None
    count: int | None


@dataclass(frozen=True)
class Point:
    """One system with one setting, on `n` questions.

    Args:
        candidates: mean number of candidates that there were.
        gm, gs, f1: means of the scores, 0 … 1; ``None``, as all that follows, if the system failed.
        gm_ratio: GM divided by GM with the reference setting (see `reference`); ``None`` if that is 0.
        kept_recall: mean share of the gold facts among the candidates that the retriever kept after its first stage;
            ``None`` if its results do not tell.
        kept: mean number of these candidates.
        seconds: wall time a question.
        memory: peak memory in bytes beyond the memory before the calls (`eval.run.memory`); NaN if unknown.
        limits: number of questions on which the retriever reached a limit.
        failure: error message of a system that cannot read that many candidates.
    """

    system: str
    fill: str | None
    count: int | None
    n: int
    candidates: float
    gm: float | None = None
    gs: float | None = None
    f1: float | None = None
    gm_ratio: float | None = None
    kept_recall: float | None = None
    kept: float | None = None
    seconds: float | None = None
    memory: float | None = None
    limits: int | None = None
    failure: str | None = None

    @property
    def setting(self) -> Setting:
        return Setting(self.fill, self.count)


@dataclass(frozen=True)
class CandidateStudy:
    """All points, system by system, and what was run."""

    points: tuple[Point, ...]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"about": dict(self.about), "points": [asdict(point) for point in self.points]}


def settings_of(counts: Sequence[int | None], fills: Sequence[str]) -> list[Setting]:
    """The questions' own candidates first, then the counts, ascending, each with all fillings."""
    numbers = sorted({count for count in counts if count is not None})
    own = [Setting(None, None)] if None in counts else []
    return [*own, *(Setting(fill, count) for count in numbers for fill in dict.fromkeys(fills))]


def reference(settings: Sequence[Setting], fill: str | None) -> Setting:
    """The setting that a filling is compared with: the questions' own candidates, or without them the smallest number
    of candidates."""
    return next(one for one in settings if one.fill in (None, fill))


def measure(
    systems: Mapping[str, Retriever],
    examples: Sequence[Example],
    sets: CandidateSets,
    settings: Sequence[Setting],
    *,
    batch_size: int = 1,
    device: torch.device | None = None,
    progress: bool = False,
) -> tuple[Point, ...]:
    """A point for each setting and system. Each system first retrieves for one question, which is not measured.

    Raises:
        BgrError: a system fails on its first question or with every setting.
    """
    for retriever in systems.values():
        retriever.retrieve([query_of(examples[0])])
    added = _additions(sets, examples, settings, progress)
    sizes = {
        setting: sum(_size(*pair, setting.count) for pair in zip(examples, added[setting.fill], strict=True))
        for setting in settings
    }
    points: list[Point] = []
    total = len(systems) * sum(sizes.values())
    with tqdm(total=total, desc="candidates", unit="fact", unit_scale=True, disable=not progress) as bar:
        for setting in settings:
            sized = list(examples)
            if setting.count is not None:
                pairs = zip(examples, added[setting.fill], strict=True)
                sized = [sets.resized(example, setting.count, facts) for example, facts in pairs]
            for name, retriever in systems.items():
                point = Point(name, setting.fill, setting.count, len(sized), sizes[setting] / len(sized))
                done = bar.n
                points.append(_measured(point, retriever, sized, batch_size, device or pick_device("cpu"), bar))
                bar.update(done + sizes[setting] - bar.n)  # a system that failed has no more to do
    for name in systems:
        failures = [point.failure for point in points if point.system == name]
        if all(failures):
            raise BgrError(f"{name}: {failures[0]}")
    by_system = sorted(points, key=lambda point: list(systems).index(point.system))
    return tuple(_with_ratio(point, points, settings) for point in by_system)


def _additions(
    sets: CandidateSets, examples: Sequence[Example], settings: Sequence[Setting], progress: bool
) -> dict[str | None, list[list[str]]]:
    """For each filling the facts that each question gets with its largest number of candidates; none without one."""
    most = max((setting.count or 0 for setting in settings), default=0)
    added: dict[str | None, list[list[str]]] = {None: [[] for _ in examples]}
    for fill in dict.fromkeys(setting.fill for setting in settings if setting.fill is not None):
        bar = tqdm(examples, desc=f"{fill} facts", unit="question", disable=not progress, delay=2)
        added[fill] = [sets.additions(example, fill, most) for example in bar]
    return added


def _size(example: Example, added: Sequence[str], count: int | None) -> int:
    """The number of candidates of a question."""
    if count is None:
        return len(example.facts)
    return max(len(example.graph.nodes), min(count, len(example.facts) + len(added)))


def _measured(
    point: Point, retriever: Retriever, examples: Sequence[Example], batch_size: int, device: torch.device, bar: tqdm
) -> Point:
    results: list[RetrievalResult] = []
    queries = [query_of(example) for example in examples]
    try:
        with PeakMemory(device) as memory:
            started = time.perf_counter()
            for first in range(0, len(queries), batch_size):
                batch = queries[first : first + batch_size]
                results += retriever.retrieve(batch)
                bar.update(sum(len(query.facts) for query in batch))
            seconds = time.perf_counter() - started
    except (BgrError, MemoryError, torch.OutOfMemoryError) as error:
        return replace(point, failure=one_line(error))
    pairs = list(zip((example.graph for example in examples), results, strict=True))
    kept = [(set(result.details[KEPT]), gold) for gold, result in pairs if KEPT in result.details]
    told = len(kept) == len(pairs)
    return replace(
        point,
        gm=fmean(graph_match(result.graph, gold) for gold, result in pairs),
        gs=fmean(graph_structure_match(result.graph, gold) for gold, result in pairs),
        f1=fmean(evidence_set(result.graph, gold).f1 for gold, result in pairs),
        kept_recall=fmean(len(found & set(gold.nodes)) / len(gold.nodes) for found, gold in kept) if told else None,
        kept=fmean(len(found) for found, _ in kept) if told else None,
        seconds=seconds / len(examples),
        memory=memory.increase,
        limits=sum(bool(result.limits) for result in results),
    )


def _with_ratio(point: Point, points: Sequence[Point], settings: Sequence[Setting]) -> Point:
    wanted = reference(settings, point.fill)
    base = next(one for one in points if one.system == point.system and one.setting == wanted).gm
    return replace(point, gm_ratio=point.gm / base if base and point.gm is not None else None)
