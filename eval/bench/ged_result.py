"""Results of the benchmark of the graph edit distance, and networkx's distance and isomorphism test as references.

Both references map ``Q`` to ``Q`` as our metrics do.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import networkx as nx

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def networkx_graph(graph: EvidenceGraph) -> nx.DiGraph:
    """The graph with the number of each node as its attribute ``fact``."""
    made = graph.to_networkx()
    nx.set_node_attributes(made, {node: node for node in made}, "fact")
    return made


def networkx_distance(first: nx.DiGraph, second: nx.DiGraph, *, labeled: bool) -> int:
    """The exact distance between two results of `networkx_graph`; its time is factorial in the number of facts."""
    distance = nx.graph_edit_distance(
        first, second, node_match=_same_fact if labeled else None, roots=(ROOT, ROOT), timeout=None
    )
    return int(distance)


def networkx_isomorphic(first: nx.DiGraph, second: nx.DiGraph) -> bool:
    """Return true if the two are isomorphic with root mapped to root (VF2)."""
    return nx.is_isomorphic(first, second, node_match=_both_or_no_root)


def _same_fact(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a["fact"] == b["fact"]


def _both_or_no_root(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return (a["fact"] == ROOT) == (b["fact"] == ROOT)


@dataclass(frozen=True)
class Against:
    """Our distance and networkx's on the same pairs. Times are sums of the wall-clock seconds of the fastest runs;
    `median_ratio` is the median over pairs of networkx's time divided by ours; `differing` lists differing pairs.
    """

    name: str
    pairs: int
    differing: tuple[str, ...]
    networkx_seconds: float
    ours_seconds: float
    median_ratio: float

    @property
    def ratio(self) -> float:
        """Ratio of networkx's time to ours over all pairs."""
        return self.networkx_seconds / self.ours_seconds


@dataclass(frozen=True)
class Large:
    """Pairs too large for networkx, with a time limit. Times are in seconds. Gaps are ``upper - lower`` in edits over
    the pairs that are not proven exact; `mean_upper` is over all pairs."""

    name: str
    facts: int
    labeled: bool
    pairs: int
    exact: int
    median_seconds: float
    max_seconds: float
    mean_gap: float
    max_gap: int
    mean_upper: float


@dataclass(frozen=True)
class Scoring:
    """Cost of scoring the predictions of one system in mean microseconds per pair. networkx runs only on the `compared`
    pairs that are small enough; `ours_compared_us` is our time on these."""

    system: str
    pairs: int
    ged_us: float
    ged_labelled_us: float
    gs_us: float
    not_exact: int
    compared: int
    networkx_us: float
    ours_compared_us: float
    differing: tuple[str, ...]


@dataclass(frozen=True)
class GedBench:
    """Results of the three parts; `scoring` is empty without predictions."""

    seed: int
    time_limit: float
    against: tuple[Against, ...]
    large: tuple[Large, ...]
    scoring: tuple[Scoring, ...]

    def to_json(self) -> dict[str, Any]:
        made = asdict(self)
        for record, part in zip(made["against"], self.against, strict=True):
            record["ratio"] = part.ratio
        return made

    def __str__(self) -> str:
        tables = (
            _against_table(self.against),
            _large_table(self.large, self.time_limit),
            _scoring_table(self.scoring),
        )
        return "\n\n".join(table for table in tables if table)


def _against_table(parts: tuple[Against, ...]) -> str:
    rows: list[tuple[str, ...]] = [
        ("against networkx", "pairs", "equal", "networkx us", "ours us", "ratio", "median ratio")
    ]
    for p in parts:
        theirs, ours = (f"{seconds / p.pairs * 1e6:.1f}" for seconds in (p.networkx_seconds, p.ours_seconds))
        equal = p.pairs - len(p.differing)
        rows.append((p.name, f"{p.pairs}", f"{equal}", theirs, ours, f"{p.ratio:.0f}", f"{p.median_ratio:.0f}"))
    return _table(rows)


def _large_table(parts: tuple[Large, ...], limit: float) -> str:
    head = (f"large, {limit:g} s each", "facts", "pairs", "exact", "median s", "max s", "GED", "gap", "max gap")
    rows: list[tuple[str, ...]] = [head]
    for p in parts:
        name = f"{p.name}, {'labeled' if p.labeled else 'unlabeled'}"
        numbers = f"{p.facts} {p.pairs} {p.exact} {p.median_seconds:.4f} {p.max_seconds:.3f} {p.mean_upper:.1f}"
        rows.append((name, *numbers.split(), f"{p.mean_gap:.1f}", f"{p.max_gap}"))
    return _table(rows)


def _scoring_table(parts: tuple[Scoring, ...]) -> str:
    rows: list[tuple[str, ...]] = [
        ("predictions, us a pair", "pairs", "GED", "GED-l", "GS", "not exact", "compared", "networkx", "ours")
    ]
    for p in parts:
        each = (f"{p.ged_us:.1f}", f"{p.ged_labelled_us:.1f}", f"{p.gs_us:.1f}")
        both = (f"{p.networkx_us:.0f}", f"{p.ours_compared_us:.1f}")
        rows.append((p.system, f"{p.pairs}", *each, f"{p.not_exact}", f"{p.compared}", *both))
    return _table(rows)


def _table(rows: list[tuple[str, ...]]) -> str:
    """A table with names on the left and numbers on the right; empty if there is only a header."""
    if len(rows) == 1:
        return ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells in rows:
        numbers = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join((name.ljust(widths[0]), *numbers)))
    return "\n".join(lines)


def check(bench: GedBench) -> None:
    """Check that both sides agree.

    Raises:
        BgrError: distances differ; the message shows the first difference.
    """
    differing = [text for part in bench.against for text in part.differing]
    differing += [text for part in bench.scoring for text in part.differing]
    if differing:
        raise BgrError(f"{len(differing)} distances differ from networkx's; {differing[0]}")
