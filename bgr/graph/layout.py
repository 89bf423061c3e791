"""Layout of evidence graphs for drawing: layers from left to right, measured in points.

This is Sugiyama's layered method. The layer of a node is its longest distance from the question, and an invisible node
stands wherever an arrow crosses a layer. Nodes within a layer are sorted by the mean position of their neighbors, and
their vertical positions are as close to those of the neighbors as the spacing allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

from bgr.graph.rooted_graph import ROOT, Edge, RootedGraph
from bgr.utils.text_layout import clean, two_digits, wrap

LINE = 10.5
BOX_WIDTH, GAP_X, GAP_Y, PAD = 150.0, 52.0, 12.0, 6.0
SWEEPS = 8

Point = tuple[float, float]
Texts = Sequence[str] | Mapping[int, str]
"""The texts of facts, by their numbers."""
Marks = Mapping[int, Sequence[tuple[int, int]]]
Node = int | tuple[Edge, int]  # a fact, the root, or the point where an edge crosses a layer


@dataclass(frozen=True)
class Box:
    """A node with its wrapped text. `state`: ``root``, ``plain``, ``right``, ``wrong`` (not in gold) or ``missed``.
    `marks` are highlighted parts: line, and its characters from start to end."""

    node: int
    lines: tuple[str, ...]
    text: str
    state: str
    x: float
    y: float
    width: float
    height: float
    marks: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Arrow:
    """An edge through `points`, horizontal at each of them. `state` is as for `Box`; `label` is the score, if any."""

    edge: Edge
    points: tuple[Point, ...]
    state: str
    label: str
    label_at: Point


@dataclass(frozen=True)
class Picture:
    """Boxes (given by their centers) and arrows within ``0 … width``, ``0 … height``; y grows downward."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float


def lay_out(
    graph: RootedGraph, facts: Texts, question: str, gold: RootedGraph | None = None, marks: Marks | None = None
) -> Picture:
    """Lay out the graph and, if there is a gold graph, also the parts of it that `graph` misses. `marks` are characters
    of facts to highlight."""
    states = dict.fromkeys(sorted(graph.edges), "plain")
    if gold is not None:
        states = {edge: "right" if edge in gold.edges else "wrong" for edge in graph.edges}
        states |= dict.fromkeys(gold.edges - graph.edges, "missed")
    nodes = sorted({ROOT, *(n for edge in states for n in edge)})
    texts = {n: clean(question) if n == ROOT else f"[{n}] {clean(facts[n])}" for n in nodes}
    lines = {n: wrap(texts[n], BOX_WIDTH - 2 * PAD) for n in nodes}
    heights = {n: LINE * len(lines[n]) + 2 * PAD for n in nodes}
    layers, chains = _layers(graph, sorted(states))
    _sort_layers(layers, chains)
    ys = _heights(layers, chains, heights)
    step = BOX_WIDTH + GAP_X
    xs = {node: BOX_WIDTH / 2 + PAD + number * step for number, layer in enumerate(layers) for node in layer}
    marked = {n: _marks(n, facts[n], texts[n], lines[n], spans) for n, spans in (marks or {}).items() if n in lines}
    boxes = [
        Box(n, lines[n], texts[n], _node_state(n, graph, gold), xs[n], ys[n], BOX_WIDTH, heights[n], marked.get(n, ()))
        for n in nodes
    ]
    centers = {node: (xs[node], ys[node]) for node in xs}
    arrows = _arrows(states, chains, centers, heights, graph.scores)
    width = len(layers) * step - GAP_X + 2 * PAD
    return Picture(tuple(boxes), arrows, width, max(y + _half(node, heights) for node, y in ys.items()) + PAD)


def _marks(
    node: int, fact: str, text: str, lines: Sequence[str], spans: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int, int], ...]:
    """The parts of the wrapped lines that show some characters of the fact."""
    before = len(f"[{node}] ")
    places = [(before + len(clean(fact[:a] + "x")) - 1, before + len(clean(fact[:b]))) for a, b in spans]
    found, start = [], 0
    for number, line in enumerate(lines):
        shown = line.removesuffix("…") if number + 1 == len(lines) else line
        start = max(start, text.find(shown, start))
        end = start + len(shown)
        found += [(number, max(a, start) - start, min(b, end) - start) for a, b in places if a < end and b > start]
        start = end
    return tuple(found)


def _node_state(node: int, graph: RootedGraph, gold: RootedGraph | None) -> str:
    if node == ROOT:
        return "root"
    if gold is None:
        return "plain"
    if node not in graph.nodes:
        return "missed"
    return "right" if node in gold.nodes else "wrong"


def _layers(graph: RootedGraph, edges: Sequence[Edge]) -> tuple[list[list[Node]], dict[Edge, list[Node]]]:
    """The nodes of each layer, and for each edge the nodes that it passes through, including both ends."""
    dag: nx.DiGraph = nx.DiGraph()
    dag.add_node(ROOT)
    for edge in sorted(edges, key=lambda e: (e not in graph.edges, e)):
        # the union of both graphs may have a cycle: an edge that closes one is ignored here
        if not (edge[0] in dag and edge[1] in dag and nx.has_path(dag, edge[1], edge[0])):
            dag.add_edge(*edge)
    depth = {ROOT: 0}
    for node in nx.lexicographical_topological_sort(dag):
        depth[node] = max((depth[before] + 1 for before in dag.predecessors(node)), default=0)
    layers: list[list[Node]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in nx.dfs_preorder_nodes(dag, ROOT):
        layers[depth[node]].append(node)
    for node in sorted(set(dag) - {n for layer in layers for n in layer if isinstance(n, int)}):
        layers[depth[node]].append(node)
    chains: dict[Edge, list[Node]] = {}
    for a, b in edges:
        passed: list[Node] = [((a, b), level) for level in range(depth[a] + 1, depth[b])]
        for level, node in enumerate(passed, depth[a] + 1):
            layers[level].append(node)
        chains[a, b] = [a, *passed, b]
    return layers, chains


def _sweeps(
    layers: list[list[Node]], chains: Mapping[Edge, list[Node]]
) -> Iterator[tuple[list[Node], Mapping[Node, list[Node]]]]:
    """Each layer in turn with the neighbors of all nodes: forward with those in the layer before, then backward with
    those in the layer after, and so on."""
    level = {node: number for number, layer in enumerate(layers) for node in layer}
    before: dict[Node, list[Node]] = {node: [] for node in level}
    after: dict[Node, list[Node]] = {node: [] for node in level}
    for chain in chains.values():
        for a, b in pairwise(chain):
            if level[b] == level[a] + 1:
                before[b].append(a)
                after[a].append(b)
    for sweep in range(SWEEPS):
        yield from (
            ((layer, after) for layer in reversed(layers)) if sweep % 2 else ((layer, before) for layer in layers)
        )


def _sort_layers(layers: list[list[Node]], chains: Mapping[Edge, list[Node]]) -> None:
    """Sort each layer by the mean position of the neighbors."""
    for layer, near in _sweeps(layers, chains):
        position = {node: n for other in layers for n, node in enumerate(other)}
        layer.sort(key=lambda node: _mean([position[n] for n in near[node]], position[node]))


def _heights(
    layers: list[list[Node]], chains: Mapping[Edge, list[Node]], heights: Mapping[int, float]
) -> dict[Node, float]:
    """The y of each node: near its neighbors, in the order of its layer, with at least the gap between two boxes."""
    ys: dict[Node, float] = {}
    for layer in layers:
        ys |= dict(zip(layer, _spread([0.0] * len(layer), layer, heights), strict=True))
    for layer, near in _sweeps(layers, chains):
        wanted = [_mean([ys[n] for n in near[node]], ys[node]) for node in layer]
        ys |= dict(zip(layer, _spread(wanted, layer, heights), strict=True))
    top = min(y - _half(node, heights) for node, y in ys.items()) - PAD
    return {node: y - top for node, y in ys.items()}


def _half(node: Node, heights: Mapping[int, float]) -> float:
    return heights[node] / 2 if isinstance(node, int) else GAP_Y / 4


def _spread(wanted: list[float], layer: list[Node], heights: Mapping[int, float]) -> list[float]:
    """The positions nearest to the wanted ones (least squares) that keep order and gaps, by isotonic regression."""
    offsets = [0.0]
    for a, b in pairwise(layer):
        offsets.append(offsets[-1] + _half(a, heights) + _half(b, heights) + GAP_Y)
    blocks: list[list[float]] = []
    for value, offset in zip(wanted, offsets, strict=True):
        blocks.append([value - offset])
        while len(blocks) > 1 and _mean(blocks[-2], 0) > _mean(blocks[-1], 0):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = [_mean(block, 0) for block in blocks for _ in block]
    return [value + offset for value, offset in zip(level, offsets, strict=True)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _arrows(
    states: Mapping[Edge, str],
    chains: Mapping[Edge, list[Node]],
    centers: Mapping[Node, Point],
    heights: Mapping[int, float],
    scores: Mapping[Edge, float],
) -> tuple[Arrow, ...]:
    """Arrows start on the right side of a box and end on the left side, sorted by the position of the other end."""
    edges = sorted(states)
    leave: dict[Edge, Point] = {}
    arrive: dict[Edge, Point] = {}
    for node in {n for edge in edges for n in edge}:
        out = sorted((e for e in edges if e[0] == node), key=lambda e: centers[chains[e][1]][1])
        into = sorted((e for e in edges if e[1] == node), key=lambda e: centers[chains[e][-2]][1])
        for group, ports, side in ((out, leave, 1), (into, arrive, -1)):
            step = min(13.0, (heights[node] - 4) / max(1, len(group)))
            for number, edge in enumerate(group):
                x, y = centers[node]
                ports[edge] = (x + side * BOX_WIDTH / 2, y + step * (number - (len(group) - 1) / 2))
    arrows = []
    for edge in edges:
        # an edge crosses a layer horizontally, from the left side of its column to the right side
        inner = [centers[node] for node in chains[edge][1:-1]]
        middle = [(x + side * BOX_WIDTH / 2, y) for x, y in inner for side in (-1, 1)]
        points = (leave[edge], *middle, arrive[edge])
        fan_in = sum(e[1] == edge[1] for e in edges) > sum(e[0] == edge[0] for e in edges)
        at = curve_point(points[0], points[1], 0.3) if fan_in else curve_point(points[-2], points[-1], 0.7)
        label = two_digits(scores[edge]) if edge in scores else ""
        arrows.append(Arrow(edge, points, states[edge], label, at))
    return tuple(arrows)


def bends(start: Point, end: Point) -> tuple[Point, Point]:
    """Control points of the cubic Bézier curve between two points that is horizontal at both."""
    reach = max(abs(end[0] - start[0]) / 2, GAP_X / 2)
    return (start[0] + reach, start[1]), (end[0] - reach, end[1])


def curve_point(start: Point, end: Point, t: float) -> Point:
    """The point of that curve at t in 0 … 1."""
    first, second = bends(start, end)
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    x, y = (sum(w * p[axis] for w, p in zip(weights, (start, first, second, end), strict=True)) for axis in (0, 1))
    return x, y
