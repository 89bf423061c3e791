"""The page's sections with tables. Every text that is not ours goes through `escape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from eval.compare.compare import GOLD, TITLES, Comparison
from eval.compare.tables import GROUPED, NONE, NOTE, PAIRS_NOTE, groups_table, pairs_table, table4, table6
from eval.report.report import Table, notes
from eval.run.errors import ERROR_KINDS

Cell = Callable[[int, int, str], str]
"""From row, column and text to a ``td``."""


def systems_section(comparison: Comparison) -> str:
    """Table 4, the best of each column in bold, what was given the gold graph aside."""
    header, rows = table4(comparison)
    best = {
        1 + column: (min if metric == "ged" else max)(values)
        for column, metric in enumerate(comparison.metrics)
        if (
            values := [one[metric].mean for name, one in comparison.intervals.items() if metric in one and name != GOLD]
        )
    }
    names = [one.name for one in comparison.evaluations]

    def cell(row: int, column: int, text: str) -> str:
        if column not in best or text == NONE:
            return f"<td>{escape(text)}</td>"
        mean, _, bounds = text.partition(" ")
        chosen = comparison.intervals[names[row]][comparison.metrics[column - 1]].mean == best[column]
        marked = ' class="best"' if chosen else ""
        return f"<td{marked}>{mean}<small>{bounds}</small></td>"

    table = _table((header, rows), cell, main=names.index(comparison.main))
    lines = [NOTE, "; ".join(notes(comparison.evaluations))]
    return table + "".join(f'<p class="note">{escape(line)}</p>' for line in lines if line)


def difference_section(comparison: Comparison) -> str:
    """The chosen system against each other one."""
    if not comparison.pairs:
        return ""
    header, rows = pairs_table(comparison)
    places = {one.name: number for number, one in enumerate(comparison.evaluations)}
    # a pair is shown under both of its systems
    parts = [f"{places[pair.first]} {places[pair.second]}" for pair in comparison.pairs]
    body = "".join(
        f'<tr data-group="pairs" data-part="{part}">{_plain_cells(row)}</tr>'
        for part, row in zip(parts, rows, strict=True)
    )
    choice = _select("pairs", "Pairs with", list(places), places[comparison.main])
    return f'{choice}<div class="scroll"><table>{_head(header)}<tbody>{body}</tbody></table></div>' + (
        f'<p class="note">{escape(PAIRS_NOTE)}</p>'
    )


def figure6_section(comparison: Comparison) -> str:
    """One metric by type and by structure, systems in rows; deeper blue is more."""
    metrics = [m for m in GROUPED if m in comparison.metrics]
    last = len(comparison.evaluations)

    def cell(row: int, column: int, text: str) -> str:
        if row == last or column == 0 or text == NONE:
            return f"<td>{escape(text)}</td>"
        return f'<td style="background:rgb(0 114 178 / {0.0045 * float(text):.3f})">{text}</td>'

    parts = []
    for number, metric in enumerate(metrics):
        tables = "".join(_table(groups_table(comparison, metric, by), cell) for by in ("type", "structure"))
        parts.append(f'<div class="tables" data-group="groups" data-part="{number}">{tables}</div>')
    note = '<p class="note">Percent of the questions of each group; the last row has their number.</p>'
    return _select("groups", "Metric", [TITLES[m] for m in metrics], 0) + "".join(parts) + note


def table6_section(comparison: Comparison) -> str:
    """Table 6 of the chosen system."""
    names = [one.name for one in comparison.evaluations]
    parts = [
        f'<div data-group="hops" data-part="{number}">{_table(table6(one))}</div>'
        for number, one in enumerate(comparison.evaluations)
    ]
    return _select("hops", "System", names, names.index(comparison.main)) + "".join(parts)


def error_section(comparison: Comparison) -> str:
    """Failures by kind; a number leads to its questions."""
    kinds = list(ERROR_KINDS)
    rows = []
    for system, one in enumerate(comparison.errors):
        cells = [f"<td>{escape(one.system)}</td><td>{one.n}</td><td>{one.failures}</td>"]
        for number, kind in enumerate(kinds):
            count = len(one.ids[kind])
            link = f'<button type="button" class="go" data-system="{system}" data-kind="{number}">{count}</button>'
            cells.append(f"<td>{link if count else 0}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    header = ["system", "n", "failed", *(kind.replace("_", " ") for kind in kinds)]
    meaning = "; ".join(f"<b>{kind.replace('_', ' ')}</b>: {escape(text)}" for kind, text in ERROR_KINDS.items())
    table = f'<div class="scroll"><table>{_head(header)}<tbody>{"".join(rows)}</tbody></table></div>'
    return f'{table}<p class="note">Each failure is of the first kind that holds. {meaning}.</p>'


def _table(table: Table, cell: Cell | None = None, main: int | None = None) -> str:
    header, rows = table
    lines = []
    for number, row in enumerate(rows):
        if cell is None:
            cells = _plain_cells(row)
        else:
            cells = "".join(cell(number, column, text) for column, text in enumerate(row))
        lines.append(f'<tr class="main">{cells}</tr>' if number == main else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table>{_head(header)}<tbody>{"".join(lines)}</tbody></table></div>'


def _plain_cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{escape(text)}</td>" for text in row)


def _head(header: Sequence[str]) -> str:
    return "<thead><tr>" + "".join(f"<th>{escape(text)}</th>" for text in header) + "</tr></thead>"


def _select(group: str, label: str, names: Sequence[str], chosen: int) -> str:
    """A choice that shows one of the parts of `group`."""
    options = "".join(
        f'<option value="{number}"{" selected" if number == chosen else ""}>{escape(name)}</option>'
        for number, name in enumerate(names)
    )
    return f'<label class="choose">{label} <select data-shows="{group}">{options}</select></label>'
