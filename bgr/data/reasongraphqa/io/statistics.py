"""Statistics of a dataset: the paper's Tables 1 to 3 beside the paper's own numbers, its Figure 3, and the wording."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from bgr.data.example import MISSING, QUESTION_TYPES, STRUCTURES, Example
from bgr.data.reasongraphqa.construction.splits import StructureClasses
from bgr.errors import DataError


def draw_statistics(statistics: Mapping[str, Any], path: str | Path) -> None:
    """Draw question types, structures and graph sizes (paper, Figure 3) to an image file, by `dataset_statistics`.

    Raises:
        DataError: the file cannot be written, or matplotlib does not know its extension.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    total = statistics["questions"]["total"]
    _bars(axes[0, 0], "question types", QUESTION_TYPES, statistics["types"]["total"])
    _bars(axes[0, 1], "structures", STRUCTURES, statistics["structures"]["total"])
    for axis, name in ((axes[1, 0], "nodes"), (axes[1, 1], "edges")):
        counts = statistics[name]
        axis.bar([int(number) for number in counts], list(counts.values()), color="#4878a8")
        axis.set_title(f"{name} of the evidence graph")
        axis.set_xlabel(f"number of {name}")
        axis.set_ylabel("questions")
        axis.set_yscale("log")
    figure.suptitle(f"{total:,} questions, {statistics['evidence_structures']} non-isomorphic graphs")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be drawn: {error}") from error


def _bars(axis: Any, title: str, names: tuple[str, ...], counts: Mapping[str, int]) -> None:
    total = sum(counts.values()) or 1
    bars = axis.bar(names, [counts[name] for name in names], color="#6a9f58")
    axis.bar_label(bars, [f"{100 * counts[name] / total:.1f} %" for name in names])
    axis.set_title(title)
    axis.set_ylabel("questions")
    axis.margins(y=0.12)


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

KQAPRO: dict[str, Any] = {
    "words": {"mean": 15.0, "95 %": 25},
    "beginnings": {
        "what is": 20.6, "how many": 9.4, "how is": 4.7, "when did": 4.2, "is the": 3.1, "when was": 2.8,
        "which movie": 2.5, "which has": 2.4, "does the": 1.9, "was the": 1.4,
    },
}  # fmt: skip
"""Words of a question and the commonest beginnings (percent) of 4,000 of the 11,797 test questions of KQA Pro, drawn at
random: people's wordings, the style that the questions here come close to."""

_SPREADS = ("chains", "hops", "facts", "candidates")


class _Row(NamedTuple):
    """The counted properties of a sample; `shape` is the isomorphism class of its graph."""

    structure: str
    type: str
    chains: int
    hops: int
    facts: int
    edges: int
    candidates: int
    shape: int

    @classmethod
    def of(cls, sample: Example, shapes: StructureClasses) -> _Row:
        graph, size = sample.graph, len(sample.graph.nodes)
        counts = (graph.chains, graph.hops, size, len(graph.edges), len(sample.facts))
        return cls(graph.structure, sample.type, *counts, shapes.number(graph))


def dataset_statistics(splits: Mapping[str, Iterable[Example]]) -> dict[str, Any]:
    """Counts of a dataset in the layout of `PAPER`, with question types, candidates and sizes of the graphs.

    Samples are read one by one, so that iterators over files of any size are possible.
    """
    shapes = StructureClasses()
    parts: dict[str, list[_Row]] = {}
    unanswerable: dict[str, int] = {}
    missing: dict[str, list[str]] = {}
    words: Counter[int] = Counter()
    beginnings: Counter[str] = Counter()
    for name, examples in splits.items():
        rows = parts[name] = []
        unanswerable[name] = 0
        missing[name] = []
        for example in examples:
            said = example.question.casefold().split()
            words[len(said)] += 1
            beginnings[" ".join(said[:2])] += 1
            if example.answerable:
                rows.append(_Row.of(example, shapes))
            else:
                unanswerable[name] += 1
                missing[name] += [example.missing] if example.missing else []
    unanswerable["total"] = sum(unanswerable.values())
    missing["total"] = [kind for kinds in missing.values() for kind in kinds]
    everything = parts["total"] = [row for rows in parts.values() for row in rows]
    return {
        "questions": {name: len(rows) for name, rows in parts.items()},
        "unanswerable": unanswerable,
        **({"missing": {name: _count(kinds, MISSING) for name, kinds in missing.items()}} if missing["total"] else {}),
        "structures": {name: _count((r.structure for r in rows), STRUCTURES) for name, rows in parts.items()},
        "types": {name: _count((r.type for r in rows), QUESTION_TYPES) for name, rows in parts.items()},
        "graphs": {name: _spread([getattr(r, name) for r in everything]) for name in _SPREADS},
        "reasoning_types": len({r.type for r in everything}),
        "evidence_structures": len(shapes),
        "structures_of_type": {kind: len({r.shape for r in everything if r.type == kind}) for kind in QUESTION_TYPES},
        "nodes": _histogram(r.facts for r in everything),
        "edges": _histogram(r.edges for r in everything),
        "words": _words(sorted(words.elements())),
        "beginnings": {text: 100 * count / words.total() for text, count in _commonest(beginnings)},
    }


def _count(found: Any, order: Sequence[str]) -> dict[str, int]:
    counts = Counter(found)
    return {name: counts[name] for name in order}


def _spread(numbers: Sequence[int]) -> dict[str, float]:
    """Mean, minimum and maximum; 0 if there are no numbers."""
    if not numbers:
        return {"mean": 0.0, "min": 0, "max": 0}
    return {"mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}


def _words(lengths: Sequence[int]) -> dict[str, float]:
    """Mean of the numbers of words, and the number that 95 % of the questions do not exceed; 0 without questions."""
    if not lengths:
        return {"mean": 0.0, "95 %": 0}
    return {"mean": sum(lengths) / len(lengths), "95 %": lengths[math.ceil(0.95 * len(lengths)) - 1]}


def _commonest(beginnings: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent beginnings, as many as `KQAPRO` has; of equally frequent ones the first by alphabet."""
    return sorted(beginnings.items(), key=lambda item: (-item[1], item[0]))[: len(KQAPRO["beginnings"])]


def _histogram(numbers: Any) -> dict[str, int]:
    return {str(number): count for number, count in sorted(Counter(numbers).items())}


def statistics_text(statistics: Mapping[str, Any]) -> str:
    """The tables in plain text, with the paper's numbers."""
    totals = statistics["questions"]
    kinds = [[key.replace("_", " "), statistics[key], PAPER[key]] for key in ("reasoning_types", "evidence_structures")]
    graphs = []
    for name in _SPREADS:
        here, paper = statistics["graphs"][name], PAPER["graphs"].get(name)
        theirs = [f"{paper['mean']:.2f}", paper["max"]] if paper else ["", ""]
        graphs.append([name, f"{here['mean']:.2f}", theirs[0], here["max"], theirs[1]])
    counted = [(name, counts, totals[name]) for name, counts in statistics["structures"].items()]
    counted.append(("paper", PAPER["structures"]["total"], PAPER["questions"]["total"]))
    structures = [[name, *(_share(counts[s], total) for s in STRUCTURES), total] for name, counts, total in counted]
    types = [
        [name, *(_share(counts[kind], totals[name]) for kind in QUESTION_TYPES)]
        for name, counts in statistics["types"].items()
    ]
    types.append(["graph structures", *statistics["structures_of_type"].values()])
    blocks = [
        _table("Table 1: kinds of questions and non-isomorphic graphs", ["", "here", "paper"], kinds),
        _table("Table 2: evidence graphs", ["", "mean", "paper", "max", "paper"], graphs),
        _table("Table 3: structures by split", ["", *STRUCTURES, "number"], structures),
        _table("Figure 3: question types", ["", *QUESTION_TYPES], types),
        _wording(statistics),
    ]
    without = statistics["unanswerable"]
    if without["total"]:
        rows = [["number", *(_share(count, count + totals[name]) for name, count in without.items())]]
        for kind in MISSING if "missing" in statistics else ():
            rows.append([f"{kind} missing", *(f"{statistics['missing'][name][kind]:,}" for name in without)])
        blocks.append(_table("Besides: questions without an answer", ["", *without], rows))
    return "\n\n".join(blocks)


def _wording(statistics: Mapping[str, Any]) -> str:
    """Words of a question and the commonest beginnings, here and in KQA Pro."""
    both = (statistics, KQAPRO)
    means = [f"{one['words']['mean']:.1f}" for one in both]
    rows = [["words, mean", *means], ["words, 95 %", *(one["words"]["95 %"] for one in both)]]
    sides = [[f"{text} {share:.1f} %" for text, share in one["beginnings"].items()] for one in both]
    commonest = list(zip_longest(*sides, fillvalue=""))
    rows += [["" if rank else "commonest beginnings", *pair] for rank, pair in enumerate(commonest)]
    return _table("Wording of the questions", ["", "here", "KQA Pro"], rows)


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
