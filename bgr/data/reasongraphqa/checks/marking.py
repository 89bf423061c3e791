"""Human marks of facts: the sheet (CSV) to fill in, and the agreement of the markers (paper, section 3.4).

Each marker fills in three columns of a copy with 1 (yes) or 0 (no):

- ``fluency``: the sentence is good English without repetition;
- ``faithfulness``: it states the triples and nothing else;
- ``sufficiency``: every triple can be reconstructed from the sentence.

Agreement is measured by the share of equal marks, and by Cohen's kappa for two markers, Fleiss' kappa for more.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bgr.data.reasongraphqa.io.fact_records import FactRecord
from bgr.data.records import read_text
from bgr.errors import DataError
from bgr.utils.atomic_io import new_file


@dataclass(frozen=True)
class Agreement:
    """Agreement on one criterion; `equal`, `kappa` and `kind` are ``None`` with one marker.

    Args:
        criterion: its name.
        facts: number of facts.
        markers: number of people who marked each fact.
        mean: mean of all marks.
        equal: share of the facts on which all markers agree, 0 to 1.
        kappa: agreement beyond chance, -1 to 1; ``None`` if all marks are equal, so that chance gives full agreement.
        kind: kind of kappa, ``cohen`` or ``fleiss``.
    """

    criterion: str
    facts: int
    markers: int
    mean: float
    equal: float | None
    kappa: float | None
    kind: str | None

    def text(self) -> str:
        found = f"{self.criterion.ljust(13)} mean {self.mean:.3f}"
        if self.kind is None:
            return found
        kappa = "undefined (all marks are equal)" if self.kappa is None else f"{self.kappa:.3f}"
        return f"{found}, equal {self.equal:.1%}, kappa ({self.kind.capitalize()}) {kappa}"


def agreement(criterion: str, marks: Sequence[Sequence[int]]) -> Agreement:
    """Agreement on one criterion; `marks` has for each fact (at least one) the marks of all markers, in one order."""
    markers = len(marks[0])
    everything = [mark for row in marks for mark in row]
    mean = sum(everything) / len(everything)
    if markers == 1:
        return Agreement(criterion, len(marks), 1, mean, None, None, None)
    equal = sum(len(set(row)) == 1 for row in marks) / len(marks)
    all_equal = len(set(everything)) == 1
    kappa = None if all_equal else cohen_kappa(marks) if markers == 2 else fleiss_kappa(marks)
    return Agreement(criterion, len(marks), markers, mean, equal, kappa, "cohen" if markers == 2 else "fleiss")


def cohen_kappa(marks: Sequence[Sequence[int]]) -> float:
    """Cohen's kappa (1960) of two markers: 1 is full agreement, 0 is chance. Undefined if all marks are equal."""
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score([first for first, _ in marks], [second for _, second in marks]))


def fleiss_kappa(marks: Sequence[Sequence[int]]) -> float:
    """Fleiss' kappa (1971): (P - P_e) / (1 - P_e); 1 is full agreement, 0 is chance.

    P is the share of pairs of markers with equal marks, averaged over the facts; P_e is the sum of the squared shares
    of each mark.

    Raises:
        ValueError: fewer than two markers, unequal numbers of them, or all marks are equal.
    """
    markers = len(marks[0]) if marks else 0
    if markers < 2 or any(len(row) != markers for row in marks):
        raise ValueError("Fleiss' kappa needs two or more marks for each fact, equally many")
    counts = [Counter(row) for row in marks]
    pairs = markers * (markers - 1)
    observed = sum(sum(n * (n - 1) for n in row.values()) / pairs for row in counts) / len(marks)
    total: Counter[int] = sum(counts, Counter())
    if len(total) == 1:
        raise ValueError("kappa is undefined: all marks are equal")
    chance = sum((n / total.total()) ** 2 for n in total.values())
    return (observed - chance) / (1 - chance)


CRITERIA = ("fluency", "faithfulness", "sufficiency")
COLUMNS = ("id", "sentence", "triples", *CRITERIA)
MARKS = {"0": 0, "1": 1}
_FORMULA = ("=", "+", "-", "@")


def write_sheet(facts: Sequence[FactRecord], path: str | Path, *, overwrite: bool = False) -> None:
    """Write facts with empty columns for the marks.

    Raises:
        DataError: `path` exists and `overwrite` is false, or it cannot be written.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for fact in facts:
        cells = (fact.id, fact.sentence, triples_text(fact))
        writer.writerow([*map(_safe, cells), *("" for _ in CRITERIA)])
    with new_file(path, parents=True) as file:
        # with a byte order mark, by which spreadsheets recognize UTF-8
        file.write_text(out.getvalue(), encoding="utf-8-sig", newline="")


def triples_text(record: FactRecord) -> str:
    """The triples of a fact as ``head | predicate | tail or value (qualifier: value)``, separated by ``;``."""
    texts = []
    for fact in record.facts:
        end = record.names[fact.tail] if fact.tail is not None else str(fact.value)
        qualifiers = "".join(f" ({key}: {value})" for key, value in fact.qualifiers)
        texts.append(f"{record.names[fact.head]} | {fact.predicate} | {end}{qualifiers}")
    return " ; ".join(texts)


def _safe(text: str) -> str:
    """The text on one line, quoted if a spreadsheet would run it as a formula (`=`, `+`, `-` or `@`)."""
    text = " ".join(text.split())
    return f"'{text}" if text.startswith(_FORMULA) else text


@dataclass(frozen=True)
class Marks:
    """Completed sheets of the same facts, one for each marker.

    `ids` are in the order of the first sheet; `marks` has for each criterion and fact the marks of all markers.
    """

    sheets: tuple[str, ...]
    ids: tuple[str, ...]
    marks: Mapping[str, tuple[tuple[int, ...], ...]]

    def agreement(self) -> tuple[Agreement, ...]:
        return tuple(agreement(criterion, self.marks[criterion]) for criterion in CRITERIA)


class _Row(NamedTuple):
    sentence: str
    marks: Mapping[str, int]


def read_marks(paths: Sequence[str | Path]) -> Marks:
    """Read completed sheets, one for each marker; their rows may be in any order.

    Raises:
        DataError: no sheet, a sheet that cannot be read or lacks a column, a mark other than 0 or 1 (the message names
            file, line and column), or sheets of different facts.
    """
    if not paths:
        raise DataError("no sheet of marks given, allowed: one or more")
    sheets: dict[str, dict[str, _Row]] = {}
    for path in paths:
        if str(path) in sheets:
            raise DataError(f"{path}: given twice, allowed: one sheet for each marker")
        sheets[str(path)] = _read(Path(path))
    first, rows = next(iter(sheets.items()))
    for name, other in sheets.items():
        for id in {**rows, **other}:
            if id not in other or id not in rows:
                lacking, having = (name, first) if id not in other else (first, name)
                raise DataError(f"{lacking}: lacks fact {id!r}, which {having} has")
            if other[id].sentence != rows[id].sentence:
                raise DataError(f"{name}: the sentence of fact {id!r} differs from that in {first}")
    marks = {
        criterion: tuple(tuple(sheet[id].marks[criterion] for sheet in sheets.values()) for id in rows)
        for criterion in CRITERIA
    }
    return Marks(tuple(sheets), tuple(rows), marks)


def _read(path: Path) -> dict[str, _Row]:
    text = read_text(path)
    header = text.split("\n", 1)[0]
    # spreadsheets in some locales save with semicolons
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
                raise DataError(f"{where}: fact {id!r} is repeated")
            rows[id] = _Row(record["sentence"], {name: _mark(record[name], where, name) for name in CRITERIA})
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: not CSV: {error}") from None
    if not rows:
        raise DataError(f"{path}: has no facts")
    return rows


def _mark(cell: str | None, where: str, column: str) -> int:
    mark = MARKS.get((cell or "").strip())
    if mark is None:
        raise DataError(f"{where}, column {column}: mark {cell or ''!r}, allowed: {', '.join(MARKS)}")
    return mark
