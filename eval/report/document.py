"""Reports as data: tables, figures and sections, written as text, Markdown, LaTeX and CSV, and by `eval.report.page` as
a page."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bgr.utils.atomic_io import write_text
from eval.run.significance import Interval

NONE = "–"
"""Text of a cell without a value."""


@dataclass(frozen=True)
class RowChoice:
    """A selection of a table's rows on a page: `names` are the options, `rows` the numbers of the options that show
    each row."""

    label: str
    names: Sequence[str]
    chosen: int
    rows: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Table:
    """A table of texts, whose first column names the rows, and the paragraphs below it (`notes`).

    The other fields matter only on a page: `main` is the row whose name is bold, `best` has ``(row, column)`` of the
    bold cells, and the percentages of the first `shaded` rows are shaded; `links` gives the cells that link to
    questions, with the numbers of the system and of the kind of error, and `choice` selects rows. The cells of a
    table of `prose` are broken into lines.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    main: int | None = None
    best: frozenset[tuple[int, int]] = frozenset()
    shaded: int = 0
    links: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    choice: RowChoice | None = None
    prose: bool = False

    @classmethod
    def of(cls, header: Sequence[str], rows: Sequence[Sequence[str]], **options: Any) -> Table:
        return cls(pd.DataFrame(list(rows), columns=list(header), dtype=object), **options)

    @property
    def header(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def rows(self) -> list[list[str]]:
        return [list(row) for row in self.frame.itertuples(index=False, name=None)]

    def as_text(self) -> str:
        """Columns for a terminal: the first is left-aligned, the others are right-aligned."""
        lines = [self.header, *self.rows]
        first, *widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        header, *rows = [
            "  ".join([name.ljust(first), *map(str.rjust, cells, widths)]).rstrip() for name, *cells in lines
        ]
        return "\n".join([header, "-" * (first + sum(widths) + 2 * len(widths)), *rows])

    def as_markdown(self) -> str:
        """A table of Markdown; bars inside cells are escaped."""
        marks = ["---", *["---:"] * (len(self.header) - 1)]
        cells = [[cell.replace("|", "\\|") for cell in line] for line in (self.header, marks, *self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)

    def as_latex(self) -> str:
        """A ``tabular`` with booktabs, after the notes as comments; intervals are small."""
        cells = [[_latex_interval(latex_escape(cell)) for cell in row[1:]] for row in self.rows]
        rows = [[latex_escape(row[0]), *line] for row, line in zip(self.rows, cells, strict=True)]
        frame = pd.DataFrame(rows, columns=[latex_escape(name) for name in self.header], dtype=object)
        table = frame.to_latex(index=False, escape=False, column_format=f"l{'r' * (len(self.header) - 1)}")
        return "".join(f"% {_one_line(note)}\n" for note in self.notes) + table


@dataclass(frozen=True)
class Figure:
    """A PNG file beside the report."""

    title: str
    path: Path


@dataclass(frozen=True)
class Choice:
    """Parts by name; a page shows the chosen one, Markdown all of them."""

    key: str
    label: str
    parts: Mapping[str, Sequence[str | Table | Figure]]
    chosen: str


Part = str | Table | Figure | Choice
"""Text is one paragraph."""


@dataclass(frozen=True)
class Section:
    """A heading and its parts; `key` is its anchor on a page."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Document:
    """A report; sections without parts are left out. `about` has the settings of the run: the end in Markdown, the top
    of a page. `summary` is one line about the data, which Markdown repeats in every section, so that a copied table has
    it."""

    title: str
    sections: tuple[Section, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""

    def as_markdown(self) -> str:
        lines = [f"# {self.title}"]
        for section in self.sections:
            if section.parts:
                lines += [f"## {_one_line(section.title)}", self.summary, *_paragraphs(section.parts)]
        if self.about:
            lines += ["## What was run", "\n".join(f"- {name}: {value}" for name, value in self.about.items())]
        return "\n\n".join(filter(None, lines)) + "\n"


def _paragraphs(parts: Sequence[Part]) -> list[str]:
    lines: list[str] = []
    for part in parts:
        if isinstance(part, Table):
            lines += [part.as_markdown(), *part.notes]
        elif isinstance(part, Figure):
            lines.append(f"![{part.title}]({part.path.name})")
        elif isinstance(part, Choice):
            for name, inner in part.parts.items():
                lines += [f"### {_one_line(name)}", *_paragraphs(inner)]
        else:
            lines.append(part)
    return lines


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write one line for each row, with the columns of all rows in order of first appearance. Numbers have all their
    digits; a cell without a value is empty.

    Raises:
        DataError: the file cannot be written.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame([[row.get(name) for name in names] for row in rows], columns=names, dtype=object)
    write_text(path, frame.to_csv(index=False, lineterminator="\r\n"))


def table_of_groups(found: Mapping[str, Mapping[str, Mapping[str, float]]], cell: Callable[[Any], str]) -> Table:
    """One row for each system, one column for each group; the last row has the numbers of questions (``n``)."""
    rows = [[name, *map(cell, groups.values())] for name, groups in found.items()]
    groups = next(iter(found.values()))
    counts = ["n", *(f"{mean['n']:.0f}" for mean in groups.values())]
    return Table.of(["system", *groups], [*rows, counts], shaded=len(rows))


def listing(lines: Sequence[str]) -> str:
    """A Markdown list, which is one paragraph on a page."""
    return "\n".join(f"- {line}" for line in lines)


def decimal(value: float | None) -> str:
    """A score in 0 … 1 with three digits; `NONE` without one."""
    return NONE if value is None else f"{value:.3f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A value of 0 … 1 in percent; a dash for ``None`` and NaN."""
    return NONE if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def number_text(value: float, form: str = ".0f") -> str:
    """A number in a format; a dash for NaN."""
    return NONE if math.isnan(value) else f"{value:{form}}"


def interval_text(found: Interval, metric: str, *, sign: bool = False) -> str:
    """A text such as ``90.1 [88.8, 91.4]``: percent with one digit, edits (GED) with two."""
    scale, digits = (1, 2) if metric.lower() == "ged" else (100, 1)
    first, low, high = (scale * value for value in (found.mean, found.low, found.high))
    form = f"{'+' if sign else ''}.{digits}f"
    return f"{first:{form}} [{low:{form}}, {high:{form}}]"


def fewer_questions(intervals: Mapping[str, Mapping[str, Interval]], questions: int) -> list[str]:
    """A note on the metrics that are over fewer than all `questions`, since some have nothing to compare with."""
    over: dict[int, list[str]] = {}
    for metric, count in {name: one.n for found in intervals.values() for name, one in found.items()}.items():
        over.setdefault(count, []).append(metric.upper().replace("_", " "))
    parts = [f"{', '.join(names)} {count:,}" for count, names in over.items() if count < questions]
    return [f"Questions with something to compare with, of {questions:,}: {'; '.join(parts)}."] if parts else []


def without_intervals(table: Table) -> Table:
    """The same table with means only, for a terminal."""
    rows = [[row[0], *(_INTERVAL.sub("", cell) for cell in row[1:])] for row in table.rows]
    return Table.of(table.header, rows, notes=table.notes)


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


_INTERVAL = re.compile(r" (\[[^\[\]]*\])$")


def split_interval(cell: str) -> tuple[str, str]:
    """The mean and the interval of a cell; the interval may be empty."""
    found = _INTERVAL.search(cell)
    return (cell[: found.start()], found[1]) if found else (cell, "")


def _latex_interval(cell: str) -> str:
    return _INTERVAL.sub(r" {\\scriptsize \1}", cell).replace(NONE, "--")


def latex_escape(text: str) -> str:
    """A text with LaTeX's special characters escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {char: f"\\{char}" for char in "&%$#_{}"}
    return "".join(special.get(char, char) for char in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
