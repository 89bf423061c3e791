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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.io.fact_records import FactRecord, sample_facts
from bgr.errors import DataError
from bgr.utils.atomic_io import new_file


@dataclass(frozen=True)
class Agreement:
    """Agreement on one criterion.

    Args:
        criterion: its name.
        facts: number of facts.
        markers: number of people who marked each fact.
        mean: mean of all marks.
        equal: share of the facts on which all markers agree, 0 to 1; ``None`` with one marker.
        kappa: agreement beyond chance, -1 to 1; ``None`` with one marker, or if all marks are equal, so that chance
            gives full agreement.
        kind: kind of kappa, ``cohen`` or ``fleiss``; ``None`` with one marker.
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
        kappa = "undefined (all marks are equal)" if self.kappa is None else f"{self.kappa:.3f}"
        return f"{found}, equal {self.equal:.1%}, kappa ({self.kind.capitalize()}) {kappa}"


def agreement(criterion: str, marks: Sequence[Sequence[int]]) -> Agreement:
    """Agreement on one criterion.

    Args:
        criterion: its name.
        marks: for each fact (at least one) the marks of all markers, in the same order.
    """
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


def write_sheet(folder: str | Path, path: str | Path, count: int, seed: int, *, overwrite: bool = False) -> int:
    """Sample facts of a dataset folder and write them with empty columns for the marks.

    Returns:
        The number of facts on the sheet: `count`, or all if the dataset has fewer.

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
        # with a byte order mark, by which spreadsheets recognize UTF-8
        file.write_text(text, encoding="utf-8-sig", newline="")


def triples_text(record: FactRecord) -> str:
    """The triples of a fact as ``head | predicate | tail or value (qualifier: value)``, separated by ``;``."""
    return " ; ".join(_triple_text(fact, record.names) for fact in record.facts)


def _triple_text(fact: Fact, names: Mapping[str, str]) -> str:
    end = names[fact.tail] if fact.tail is not None else str(fact.value)
    qualifiers = "".join(f" ({key}: {value})" for key, value in fact.qualifiers)
    return f"{names[fact.head]} | {fact.predicate} | {end}{qualifiers}"


def _safe(text: str) -> str:
    """The text on one line, quoted if a spreadsheet would run it as a formula (`=`, `+`, `-` or `@`)."""
    text = " ".join(text.split())
    return f"'{text}" if text.startswith(_FORMULA) else text


@dataclass(frozen=True)
class Marks:
    """Completed sheets of the same facts.

    Args:
        sheets: the files, one for each marker.
        ids: ids of the facts, in the order of the first sheet.
        marks: criterion to one row for each fact with the marks of all markers.
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
            raise DataError(f"{other_name}: the sentence of fact {id!r} differs from that in {name}")


def _read(path: Path) -> dict[str, _Row]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
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
