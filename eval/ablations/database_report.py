"""The scores of `bgr ablate database`, and the tables of its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from eval.report.document import NONE, Document, Section, Table, percent
from eval.run.significance import bootstrap_means, interval

SCORES = ("gm", "gs", "f1", "exact")
"""The columns with intervals; ``exact`` is whether the answer of the reader is right."""

RANKS = (5, 20, 100)
"""k of R@k."""

FIRST = "first k"
"""The row of a search alone: its first candidates, as many as there are gold facts, which all follow the question."""

POOL_NOTES = (
    "In percent. All R: questions whose pool holds every gold fact; R and R@k: the mean share of the gold facts in the "
    "pool and among its first k. Time is milliseconds a question.",
    "A sentence that states what a gold fact states counts as this fact.",
)

GRAPH_NOTES = (
    "In percent, with 95 % intervals in brackets (bootstrap over questions). Time is milliseconds a question for the "
    f"graph and the answer, after the search. {FIRST.capitalize()}: the first candidates of the search alone, "
    "k = number of gold facts.",
)


@dataclass(frozen=True)
class DatabaseScore:
    """One question with one search and one system.

    Args:
        recall: share of the gold facts in the pool.
        recall_at: share of the gold facts among the first `RANKS` candidates.
        exact: whether the answer is right; ``None`` without a reader.
    """

    id: str
    hops: int
    structure: str
    pool: int
    recall: float
    recall_at: tuple[float, ...]
    gm: bool
    gs: bool
    f1: float
    exact: bool | None
    searched_ms: float
    read_ms: float


@dataclass(frozen=True)
class DatabaseRow:
    """All questions of one system over the pools of one search."""

    system: str
    search: str
    scores: tuple[DatabaseScore, ...]


@dataclass(frozen=True)
class DatabaseStudy:
    """All rows, and what was run."""

    rows: tuple[DatabaseRow, ...]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"about": dict(self.about), "rows": [asdict(row) for row in self.rows]}

    def pools(self) -> Table:
        """One row for each search, for all questions and by number of hops."""
        header = ["search", "hops", "n", "pool", "all R", "R", *(f"R@{k}" for k in RANKS), "ms"]
        searches = {row.search: row.scores for row in self.rows}  # all rows of a search have the same pools
        cells = [
            [search, part, *_pool_cells(scores)]
            for search, whole in searches.items()
            for part, scores in _parts(whole, structures=False)
        ]
        return Table.of(header, cells, notes=POOL_NOTES)

    def graphs(self) -> Table:
        """One row for each system and search, for all questions, by number of hops and by structure."""
        header = ["system", "search", "questions", "n", "GM", "GS", "F1", "answer", "ms"]
        cells = [
            [row.system, row.search, part, *_graph_cells(scores)]
            for row in self.rows
            for part, scores in _parts(row.scores, structures=True)
        ]
        return Table.of(header, cells, notes=GRAPH_NOTES)

    def tables(self) -> tuple[Table, Table]:
        return self.pools(), self.graphs()

    def document(self) -> Document:
        """The report."""
        sections = (
            Section("searches", "What the searches find", (self.pools(),)),
            Section("systems", "Graphs and answers", (self.graphs(),)),
        )
        return Document("Over a database", sections, self.about)


def _parts(scores: Sequence[DatabaseScore], *, structures: bool) -> Iterator[tuple[str, Sequence[DatabaseScore]]]:
    """All questions, and those of each number of hops and of each structure, if there are several."""
    yield "all", scores
    kinds: list[Callable[[DatabaseScore], str]] = [lambda one: f"{one.hops} hops" if one.hops > 1 else "1 hop"]
    if structures:
        kinds.append(lambda one: one.structure)
    for kind in kinds:
        names = sorted({kind(one) for one in scores})
        if len(names) > 1:
            yield from ((name, [one for one in scores if kind(one) == name]) for name in names)


def _pool_cells(scores: Sequence[DatabaseScore]) -> list[str]:
    return [
        str(len(scores)),
        f"{fmean(one.pool for one in scores):.0f}",
        percent(fmean(one.recall == 1 for one in scores)),
        percent(fmean(one.recall for one in scores)),
        *(percent(fmean(one.recall_at[n] for one in scores)) for n in range(len(RANKS))),
        f"{fmean(one.searched_ms for one in scores):.0f}",
    ]


def _graph_cells(scores: Sequence[DatabaseScore]) -> list[str]:
    columns = [name for name in SCORES if scores[0].exact is not None or name != "exact"]
    values = np.array([[float(getattr(one, name)) for name in columns] for one in scores])
    means = bootstrap_means(values)
    texts = {name: _with_interval(values[:, n], means[:, n]) for n, name in enumerate(columns)}
    return [
        str(len(scores)),
        *(texts.get(name, NONE) for name in SCORES),
        f"{fmean(one.read_ms for one in scores):.0f}",
    ]


def _with_interval(scores: np.ndarray, means: np.ndarray) -> str:
    found = interval(scores, means)
    return f"{100 * found.mean:.1f} [{100 * found.low:.0f}, {100 * found.high:.0f}]"
