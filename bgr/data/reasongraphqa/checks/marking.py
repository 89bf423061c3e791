"""A sheet (CSV) on which people mark facts, and how far their marks agree (paper, section 3.4).

Each marker gets a copy and fills in three columns with 1 (yes) or 0 (no):

- ``fluency``: the sentence is good English, nothing stands twice;
- ``faithfulness``: it says what the triples say and nothing else;
- ``sufficiency``: who reads it alone can write down every triple.

How far people who mark the same facts agree: equal marks, Cohen's kappa for two, Fleiss' kappa for more.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.io.fact_records import FactRecord, sample_facts
from bgr.errors import DataError
from bgr.utils.atomic_io import new_file


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


CRITERIA = ("fluency", "faithfulness", "sufficiency")
COLUMNS = ("id", "sentence", "triples", *CRITERIA)
MARKS = {"0": 0, "1": 1}
_FORMULA = ("=", "+", "-", "@")


def write_sheet(folder: str | Path, path: str | Path, count: int, seed: int, *, overwrite: bool = False) -> int:
    """Draw facts of a dataset folder by seed and write them with empty columns for the marks.

    Returns:
        The number of facts on the sheet; all if the dataset has fewer than `count`.

    Raises:
        DataError: no such dataset, or `path` exists and `overwrite` is false.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    records = sample_facts(folder, count, seed).records
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        cells = (record.id, record.sentence, triples_text(record))
        writer.writerow([*map(_safe, cells), *("" for _ in CRITERIA)])
    _write(path, out.getvalue())
    return len(records)


def _write(path: Path, text: str) -> None:
    with new_file(path, parents=True) as file:
        # the mark at the beginning tells a spreadsheet that the names are in UTF-8
        file.write_text(text, encoding="utf-8-sig", newline="")


def triples_text(record: FactRecord) -> str:
    """``head | predicate | tail or value (qualifier: value)``, one after the other."""
    return " ; ".join(_triple_text(fact, record.names) for fact in record.facts)


def _triple_text(fact: Fact, names: Mapping[str, str]) -> str:
    end = names[fact.tail] if fact.tail is not None else str(fact.value)
    qualifiers = "".join(f" ({key}: {value})" for key, value in fact.qualifiers)
    return f"{names[fact.head]} | {fact.predicate} | {end}{qualifiers}"


def _safe(text: str) -> str:
    """On one line, and never a formula: a spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`."""
    text = " ".join(text.split())
    return f"'{text}" if text.startswith(_FORMULA) else text


@dataclass(frozen=True)
class Marks:
    """Filled-in sheets of the same facts.

    Args:
        sheets: the files, one a marker.
        ids: the facts, in the order of the first sheet.
        marks: criterion to one row a fact, in which each marker has one mark.
    """

    sheets: tuple[str, ...]
    ids: tuple[str, ...]
    marks: Mapping[str, tuple[tuple[int, ...], ...]]

    def agreement(self) -> tuple[Agreement, ...]:
        """Mean mark and agreement of each criterion."""
        return tuple(agreement(criterion, self.marks[criterion]) for criterion in CRITERIA)


@dataclass(frozen=True)
class _Row:
    sentence: str
    marks: Mapping[str, int]


def read_marks(paths: Sequence[str | Path]) -> Marks:
    """Filled-in sheets, each by one marker; rows may have been sorted.

    Raises:
        DataError: no sheet, one that cannot be read or lacks a column, a mark other than 0 or 1 (file, line and column
            are named), or sheets of different facts.
    """
    if not paths:
        raise DataError("no sheet of marks given, allowed: one or more")
    sheets: dict[str, dict[str, _Row]] = {}
    for path in paths:
        if str(path) in sheets:
            raise DataError(f"{path}: given twice, allowed: one sheet a marker")
        sheets[str(path)] = _read(Path(path))
    (first, rows), *others = sheets.items()
    for name, other in others:
        _same_facts(first, rows, name, other)
        _same_facts(name, other, first, rows)
    marks = {
        criterion: tuple(tuple(sheet[id].marks[criterion] for sheet in sheets.values()) for id in rows)
        for criterion in CRITERIA
    }
    return Marks(tuple(sheets), tuple(rows), marks)


def _same_facts(name: str, rows: Mapping[str, _Row], other_name: str, other: Mapping[str, _Row]) -> None:
    for id, row in rows.items():
        if id not in other:
            raise DataError(f"{other_name}: lacks fact {id!r}, which {name} has")
        if other[id].sentence != row.sentence:
            raise DataError(f"{other_name}: fact {id!r} has another sentence than in {name}")


def _read(path: Path) -> dict[str, _Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    header = text.split("\n", 1)[0]
    # spreadsheets of some countries save with semicolons
    delimiter = max(",;\t", key=header.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        if absent := [column for column in COLUMNS if column not in (reader.fieldnames or ())]:
            raise DataError(f"{path}: line 1: lacks the column {absent[0]!r}, expected: {', '.join(COLUMNS)}")
        rows: dict[str, _Row] = {}
        for record in reader:
            where = f"{path}: line {reader.line_num}"
            id = record["id"]
            if id in rows:
                raise DataError(f"{where}: fact {id!r} stands twice")
            rows[id] = _Row(record["sentence"], {name: _mark(record[name], where, name) for name in CRITERIA})
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: not CSV: {error}") from None
    if not rows:
        raise DataError(f"{path}: holds no facts")
    return rows


def _mark(cell: str | None, where: str, column: str) -> int:
    mark = MARKS.get((cell or "").strip())
    if mark is None:
        raise DataError(f"{where}, column {column}: {cell or ''!r} is no mark, allowed: {', '.join(MARKS)}")
    return mark
