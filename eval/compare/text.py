"""The comparison as one Markdown file and Table 4 as LaTeX."""

from __future__ import annotations

from eval.compare.compare import TITLES, Comparison
from eval.compare.tables import GROUPED, NOTE, PAIRS_NOTE, groups_table, pairs_table, table4, table6
from eval.report.report import notes
from eval.report.tables import markdown_table
from eval.run.errors import ERROR_KINDS, errors_table
from eval.run.significance import Interval

FIGURE5, FIGURE6 = "figure5.png", "figure6.png"


def as_markdown(comparison: Comparison, *, with_sweep: bool = False) -> str:
    """All tables, `about` first."""
    parts = ["# Comparison", "\n".join(f"- {name}: {value}" for name, value in comparison.about.items())]
    parts += ["## Systems (Table 4)", markdown_table(*table4(comparison)), NOTE, *notes(comparison.evaluations)]
    if comparison.pairs:
        parts += ["## Differences", markdown_table(*pairs_table(comparison)), PAIRS_NOTE]
    if with_sweep:
        parts += ["## γ (Figure 5)", f"![Figure 5]({FIGURE5})"]
    parts += ["## By type and structure (Figure 6)", f"![Figure 6]({FIGURE6})"]
    for metric in GROUPED:
        if metric in comparison.metrics:
            parts += [
                f"{TITLES[metric]}, percent",
                *(markdown_table(*groups_table(comparison, metric, by)) for by in ("type", "structure")),
            ]
    for one in comparison.evaluations:
        parts += [f"## {one.name}: hops and chains (Table 6)", markdown_table(*table6(one))]
    parts += ["## Errors", markdown_table(*errors_table(comparison.errors))]
    parts += ["\n".join(f"- {kind.replace('_', ' ')}: {text}" for kind, text in ERROR_KINDS.items())]
    return "\n\n".join(parts) + "\n"


def as_latex(comparison: Comparison) -> str:
    """Table 4 as a ``tabular`` of booktabs; needs the package booktabs alone."""
    header, rows = table4(comparison, _latex_interval)
    lines = [f"% {_one_line(NOTE)}", rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}", r"\toprule"]
    lines += [" & ".join(map(latex_escape, header)) + r" \\", r"\midrule"]
    for name, *cells in rows:
        lines.append(" & ".join([latex_escape(name), *(cell.replace("–", "--") for cell in cells)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_escape(text: str) -> str:
    """A text in which no character means anything to LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {char: f"\\{char}" for char in "&%$#_{}"}
    return "".join(special.get(char, char) for char in _one_line(text))


def _latex_interval(found: Interval, metric: str) -> str:
    scale, digits = (1, 2) if metric == "ged" else (100, 1)
    mean, low, high = (f"{scale * value:.{digits}f}" for value in (found.mean, found.low, found.high))
    return rf"{mean} {{\scriptsize [{low}, {high}]}}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
