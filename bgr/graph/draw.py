"""Drawing of evidence graphs as a text tree, a PNG or SVG image, or an HTML page.

Facts and questions are untrusted input: control characters are removed, no text is interpreted as mathematics or HTML,
and the page loads no other resources.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from html import escape
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from bgr.errors import BgrError, DataError
from bgr.graph.layout import LINE, Arrow, Box, Marks, Picture, Texts, bends, lay_out
from bgr.graph.rooted_graph import ROOT, Edge, RootedGraph
from bgr.utils.text_layout import FONT, PLAIN, Paint, clean, text_width, two_digits, wrap

COLORS = {  # state: line, fill
    "root": ("#444444", "#eeeeee"),
    "plain": ("#3b6fb6", "#eaf1fb"),
    "right": ("#2e7d4f", "#e8f5ec"),
    "wrong": ("#c0392b", "#fdecea"),
    "missed": ("#b07a10", "#fff8e1"),
}
MARK = "#ffe08a"
"""Background of what an answer was read from."""

LEGEND = (("right", "in both"), ("wrong", "retrieved, not in gold"), ("missed", "in gold, not retrieved"))
ENDINGS = (".png", ".svg", ".html")
DPI = 160
LEGEND_HEIGHT = 22.0  # points below the graph


def draw(
    graph: RootedGraph,
    facts: Texts,
    question: str,
    path: str | Path,
    gold: RootedGraph | None = None,
    *,
    caption: str = "",
    marks: Marks | None = None,
) -> None:
    """Write an image (.png, .svg), or a self-contained HTML page with the graph and the evidence in order (.html).

    The graph runs from left to right. With `gold`, correct parts are green, wrong ones red, missed ones dashed.
    `caption` is a line below the graph, such as the answer; `marks` are characters of facts to highlight.

    Raises:
        BgrError: the suffix of `path` is another one.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise BgrError(f"{path}: cannot draw {ending or 'a file without an ending'}, allowed: {', '.join(ENDINGS)}")
    picture = lay_out(graph, facts, question, gold, marks)
    if ending != ".html":
        Path(path).write_bytes(image(picture, ending[1:], legend=gold is not None, caption=clean(caption)))
        return
    evidence = "\n".join(f'<li><span class="n">[{n}]</span> {_html(facts[n])}</li>' for n in graph.order())
    legend = " ".join(f'<span style="color:{COLORS[state][0]}">■ {text}</span>' for state, text in LEGEND)
    svg = image(picture, "svg", legend=False).decode()
    page = PAGE.format(
        title=_html(question),
        svg=svg[svg.index("<svg") :],
        legend=f"<p>{legend}</p>" if gold is not None else "",
        caption=f'<p class="answer">{_html(caption)}</p>' if caption else "",
        evidence=f"<ol>\n{evidence}\n</ol>" if evidence else "<p>No evidence.</p>",
    )
    Path(path).write_text(page, encoding="utf-8")


def check_drawing(path: Path, *, overwrite: bool) -> None:
    """Check before any work that a graph can be drawn to `path`.

    Raises:
        DataError: the suffix is unknown, the file exists and may not be replaced, or the folder does not exist.
    """
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: unknown kind of drawing {path.suffix!r}, allowed: {', '.join(ENDINGS)}")
    if path.is_dir():
        raise DataError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent}: no such folder")


def tree_text(graph: RootedGraph, facts: Texts, question: str, paint: Paint = PLAIN) -> str:
    """Render the graph as an indented tree with the score of each edge. A repeated fact is shown as ``(see above)``.

    ``[n]`` is the index of the fact among the candidates, counted from 0. `paint` adds colors for a terminal.
    """
    lines = [paint(f"Q: {clean(question)}", "bold")]
    seen: set[int] = set()
    stack = _children(graph, ROOT, "")
    while stack:
        (before, node), indent, last = stack.pop()
        score = f"{paint(two_digits(graph.scores[before, node]), 'dim')} " if (before, node) in graph.scores else ""
        text = paint("(see above)", "dim") if node in seen else clean(facts[node])
        branch = paint(f"{indent}{'└─' if last else '├─'}", "dim")
        lines.append(f"{branch} {score}{paint(f'[{node}]', 'cyan')} {text}")
        if node not in seen:
            seen.add(node)
            stack += _children(graph, node, indent + ("   " if last else "│  "))
    if not graph.edges:
        lines.append(paint("(no evidence)", "yellow"))
    return "\n".join(lines)


def _children(graph: RootedGraph, node: int, indent: str) -> list[tuple[Edge, str, bool]]:
    """Edges below a node, last first, each with its indentation and whether it is the last one of its parent."""
    after = graph.successors(node)
    return [((node, child), indent, child == after[-1]) for child in reversed(after)]


def image(picture: Picture, kind: str, *, legend: bool, caption: str = "") -> bytes:
    """The picture as a PNG or an SVG file; equal pictures give equal bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = picture.height + (LEGEND_HEIGHT if legend else 0) + (LEGEND_HEIGHT if caption else 0)
    figure = Figure(figsize=(picture.width / 72, height / 72), dpi=DPI)  # texts are measured as they are drawn
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, picture.width), ylim=(height, 0))
    axes.axis("off")
    for arrow in picture.arrows:
        _draw_arrow(axes, arrow)
    for box in picture.boxes:
        _draw_box(axes, box, lambda text: _measured(renderer, figure.dpi, text))
    if caption:
        shown = wrap(caption, picture.width - 16)[0]
        axes.text(
            8.0, height - LEGEND_HEIGHT / 2, shown, fontsize=FONT + 1, va="center", weight="bold", parse_math=False
        )
    if legend:
        x, y = 8.0, picture.height + LEGEND_HEIGHT / 2
        for state, text in LEGEND:
            axes.text(x, y, f"■ {text}", color=COLORS[state][0], fontsize=FONT, va="center")
            x += text_width(text) + 24
    content = BytesIO()
    # letters of an SVG stay text; a glyph missing from the font of a PNG is drawn as a box
    with warnings.catch_warnings(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "graph"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(content, dpi=DPI, facecolor="white", format=kind, metadata=metadata)
    return content.getvalue()


def _draw_arrow(axes, arrow: Arrow) -> None:  # type: ignore[no-untyped-def]  # matplotlib is untyped here
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path as Curve

    color, _ = COLORS[arrow.state]
    points = [arrow.points[0]]
    for start, end in pairwise(arrow.points):
        points += [*bends(start, end), end]
    curve = Curve(points, [Curve.MOVETO, *[Curve.CURVE4] * (len(points) - 1)])
    style = "--" if arrow.state == "missed" else "-"
    axes.add_patch(PathPatch(curve, fill=False, edgecolor=color, linewidth=1.1, linestyle=style, zorder=1))
    axes.add_patch(Polygon(_head(arrow), closed=True, color=color, linewidth=0, zorder=3))
    if arrow.label:
        frame = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        place = {"ha": "center", "va": "center", "bbox": frame, "zorder": 4}
        axes.text(*arrow.label_at, arrow.label, fontsize=6.5, color=color, **place)


def _measured(renderer: Any, dpi: float, text: str) -> float:
    """Width of a text in points."""
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=FONT)
    # a space at the end has no width of its own
    whole, mark = (renderer.get_text_width_height_descent(one, font, ismath=False)[0] for one in (f"{text}|", "|"))
    return float(whole - mark) * 72 / dpi


def _draw_box(axes, box: Box, measured: Callable[[str], float]) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.patches import FancyBboxPatch, Rectangle

    line, fill = COLORS[box.state]
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style = "--" if box.state == "missed" else "-"
    looks: dict[str, Any] = {"facecolor": fill, "edgecolor": line, "linestyle": style, "zorder": 2}
    axes.add_patch(FancyBboxPatch(corner, box.width, box.height, boxstyle="round,pad=0,rounding_size=4", **looks))
    rows = [box.y + LINE * (number - (len(box.lines) - 1) / 2) for number in range(len(box.lines))]
    for number, start, end in box.marks:
        before, within = (measured(box.lines[number][:place]) for place in (start, end))
        left = (corner[0] + 6 + before, rows[number] - LINE / 2)
        axes.add_patch(Rectangle(left, within - before, LINE, facecolor=MARK, linewidth=0, zorder=2.5))
    for text, y in zip(box.lines, rows, strict=True):
        axes.text(corner[0] + 6, y, text, fontsize=FONT, va="center_baseline", zorder=3, parse_math=False)


def _head(arrow: Arrow) -> list[tuple[float, float]]:
    """Corners of the arrowhead; every arrow ends horizontally."""
    x, y = arrow.points[-1]
    return [(x, y), (x - 7, y - 3), (x - 7, y + 3)]


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.45 "DejaVu Sans", Verdana, sans-serif; margin: 2rem; color: #222; }}
h1 {{ font-size: 1.2rem; }}
.graph {{ overflow-x: auto; border: 1px solid #ddd; padding: 8px; }}
.n {{ color: #777; }}
.answer {{ font-weight: bold; }}
</style>
</head>
<body>
<h1>{title}</h1>
{caption}
<div class="graph">
{svg}
</div>
{legend}
<h2>Evidence, in the order of reasoning</h2>
{evidence}
</body>
</html>
"""


def _html(text: str) -> str:
    return escape(clean(text), quote=True)
