"""The paper's Tables 1 to 3 for a dataset, beside the paper's own figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bgr.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.reasongraphqa.isomorphism import structure_classes

PAPER: dict[str, Any] = {
    "questions": {"train": 11703, "dev": 1506, "test": 1469, "total": 14678},
    "structures": {
        # printed as 3,524: a misprint, since only 4,524 agrees with the row's and the column's totals
        "train": {"SC-SH": 2295, "SC-MH": 4524, "MC-SH": 1001, "MC-MH": 3883},
        "dev": {"SC-SH": 321, "SC-MH": 577, "MC-SH": 141, "MC-MH": 467},
        "test": {"SC-SH": 248, "SC-MH": 572, "MC-SH": 135, "MC-MH": 514},
        "total": {"SC-SH": 2864, "SC-MH": 5673, "MC-SH": 1277, "MC-MH": 4864},
    },
    "graphs": {
        "chains": {"mean": 1.56, "max": 5},
        "hops": {"mean": 2.10, "max": 23},
        "facts": {"mean": 3.28, "max": 24},
    },
    "reasoning_types": 5,
    "evidence_structures": 262,
}
"""As printed in Tables 1 to 3. (Table 2 heads the column of gold facts "candidate facts".)"""


def dataset_statistics(splits: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
    """Counts of a dataset in the layout of `PAPER`, and question types, candidates and the most frequent shapes."""
    everything = [example for examples in splits.values() for example in examples]
    parts = {**splits, "total": everything}
    classes = structure_classes([example.graph for example in everything])
    return {
        "questions": {name: len(examples) for name, examples in parts.items()},
        "structures": {name: _count((e.structure for e in examples), STRUCTURES) for name, examples in parts.items()},
        "types": {name: _count((e.type for e in examples), QUESTION_TYPES) for name, examples in parts.items()},
        "graphs": {
            "chains": _spread([e.graph.chains for e in everything]),
            "hops": _spread([e.graph.hops for e in everything]),
            "facts": _spread([len(e.graph.nodes) for e in everything]),
            "candidates": _spread([len(e.facts) for e in everything]),
        },
        "reasoning_types": len({e.type for e in everything}),
        "evidence_structures": len(set(classes)),
        "structures_of_type": {
            kind: len({c for c, e in zip(classes, everything, strict=True) if e.type == kind})
            for kind in QUESTION_TYPES
        },
        "nodes": _histogram(len(e.graph.nodes) for e in everything),
        "edges": _histogram(len(e.graph.edges) for e in everything),
    }


def _count(found: Any, order: Sequence[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in order}


def _spread(numbers: Sequence[int]) -> dict[str, float]:
    """Mean and extremes; all 0 where there is nothing."""
    if not numbers:
        return {"mean": 0.0, "min": 0, "max": 0}
    return {"mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}


def _histogram(numbers: Any) -> dict[str, int]:
    return {str(number): count for number, count in sorted(Counter(numbers).items())}


def statistics_text(statistics: Mapping[str, Any]) -> str:
    """The three tables in plain text, the paper's figures beside."""
    blocks = [_table_1(statistics), _table_2(statistics), _table_3(statistics), _types(statistics)]
    return "\n\n".join(blocks)


def _table_1(found: Mapping[str, Any]) -> str:
    rows = [
        ["reasoning types", found["reasoning_types"], PAPER["reasoning_types"]],
        ["evidence structures", found["evidence_structures"], PAPER["evidence_structures"]],
    ]
    return _table("Table 1: kinds of questions and non-isomorphic graphs", ["", "here", "paper"], rows)


def _table_2(found: Mapping[str, Any]) -> str:
    rows = []
    for name in ("chains", "hops", "facts", "candidates"):
        here, paper = found["graphs"][name], PAPER["graphs"].get(name)
        theirs = [f"{paper['mean']:.2f}", paper["max"]] if paper else ["", ""]
        rows.append([name, f"{here['mean']:.2f}", theirs[0], here["max"], theirs[1]])
    return _table("Table 2: evidence graphs", ["", "mean", "paper", "max", "paper"], rows)


def _table_3(found: Mapping[str, Any]) -> str:
    rows = []
    for name, counts in found["structures"].items():
        rows.append(
            [name, *(_share(counts[s], found["questions"][name]) for s in STRUCTURES), found["questions"][name]]
        )
    paper, total = PAPER["structures"]["total"], PAPER["questions"]["total"]
    rows.append(["paper", *(_share(paper[s], total) for s in STRUCTURES), total])
    return _table("Table 3: structures by split", ["", *STRUCTURES, "number"], rows)


def _types(found: Mapping[str, Any]) -> str:
    rows = []
    for name, counts in found["types"].items():
        rows.append([name, *(_share(counts[kind], found["questions"][name]) for kind in QUESTION_TYPES)])
    rows.append(["graph structures", *found["structures_of_type"].values()])
    return _table("Figure 3: question types", ["", *QUESTION_TYPES], rows)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)" if total else "0"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [list(head), *([f"{c:,}" if isinstance(c, int) else str(c) for c in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    ]
    return "\n".join([title, *(line.rstrip() for line in lines)])
