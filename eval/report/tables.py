"""Tables as plain aligned text and as Markdown, from the same rows."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, numbers to the right, two spaces between."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def written(line: Sequence[str]) -> str:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([written(header), rule, *(written(row) for row in rows)])


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; bars inside cells are escaped."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in (header, marks, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
