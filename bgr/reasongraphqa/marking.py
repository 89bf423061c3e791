"""A sheet (CSV) on which people mark facts, and how far their marks agree (paper, section 3.4).

Each marker gets a copy and fills in three columns with 1 (yes) or 0 (no):

- ``fluency``: the sentence is good English, nothing stands twice;
- ``faithfulness``: it says what the triples say and nothing else;
- ``sufficiency``: who reads it alone can write down every triple.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bgr.errors import DataError
from bgr.kb.schema import Fact
from bgr.reasongraphqa.agreement import Agreement, agreement
from bgr.reasongraphqa.fact_records import FactRecord, sample_facts

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
    """Whole or not at all."""
    work = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # its opening mark tells a spreadsheet that the names are in UTF-8
        work.write_text(text, encoding="utf-8-sig", newline="")
        os.replace(work, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        work.unlink(missing_ok=True)


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
