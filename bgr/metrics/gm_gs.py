"""Graph Matching (GM) and Graph Structure (GS): equality and isomorphism of evidence graphs (paper, section 5.3).

The isomorphism test starts with color refinement, which decides every tree. The remaining cases are decided exactly by
fixing one node at a time and trying each of its possible images. An image is skipped if an automorphism maps it to one
that failed, so many equal parts next to a small difference cost no more than one of them.
"""

from __future__ import annotations

from collections import Counter

from bgr.graph.evidence_graph import ROOT, EvidenceGraph

Colors = dict[int, int]


def graph_match(predicted: EvidenceGraph, gold: EvidenceGraph) -> bool:
    """Graph Matching: true if the two edge sets are equal. The facts' identity counts. Higher is better.

    Two empty graphs match; an empty and a non-empty one do not. The authors' code reports this metric under the name
    "structural".
    """
    return predicted.edges == gold.edges


def graph_structure_match(predicted: EvidenceGraph, gold: EvidenceGraph) -> bool:
    """Graph Structure: true if the graphs are isomorphic as directed graphs with ``Q`` mapped to ``Q``.

    The facts' identity does not count. Two empty graphs match. Higher is better, and `graph_match` implies it. The
    authors' code reports this metric under the name "graph" and does not pin ``Q``, which makes no difference: ``Q`` is
    the only node without predecessors.
    """
    if predicted.edges == gold.edges:
        return True
    if len(predicted.edges) != len(gold.edges) or len(predicted.nodes) != len(gold.nodes):
        return False
    colors = ({ROOT: 0, **dict.fromkeys(graph.nodes, 1)} for graph in (predicted, gold))
    return _isomorphic(predicted, gold, *colors)


def _isomorphic(a: EvidenceGraph, b: EvidenceGraph, colors_a: Colors, colors_b: Colors) -> bool:
    """Return true if a color-preserving isomorphism exists."""
    refined = _refine(a, b, colors_a, colors_b)
    if refined is None:
        return False
    colors_a, colors_b = refined
    sizes = Counter(colors_a.values())
    open_colors = [color for color, size in sizes.items() if size > 1]
    if not open_colors:
        image = {color: node for node, color in colors_b.items()}
        return {(image[colors_a[u]], image[colors_a[v]]) for u, v in a.edges} == b.edges
    color = min(open_colors, key=lambda c: (sizes[c], c))
    node = min(n for n, c in colors_a.items() if c == color)
    fresh = len(colors_a)  # above every color in use
    fixed = {**colors_a, node: fresh}
    failed: list[Colors] = []
    for image_node in sorted(n for n, c in colors_b.items() if c == color):
        tried = {**colors_b, image_node: fresh}
        if any(_isomorphic(b, b, tried, other) for other in failed):
            continue
        if _isomorphic(a, b, fixed, tried):
            return True
        failed.append(tried)
    return False


def _refine(a: EvidenceGraph, b: EvidenceGraph, colors_a: Colors, colors_b: Colors) -> tuple[Colors, Colors] | None:
    """Split colors by the neighbors' colors until they are stable; ``None`` if the two graphs get different colors."""
    count = len(set(colors_a.values()))
    while True:
        signs_a, signs_b = _signatures(a, colors_a), _signatures(b, colors_b)
        if Counter(signs_a.values()) != Counter(signs_b.values()):
            return None
        names = {sign: number for number, sign in enumerate(sorted(set(signs_a.values())))}
        colors_a = {node: names[sign] for node, sign in signs_a.items()}
        colors_b = {node: names[sign] for node, sign in signs_b.items()}
        if len(names) == count:
            return colors_a, colors_b
        count = len(names)


def _signatures(graph: EvidenceGraph, colors: Colors) -> dict[int, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    return {
        node: (
            color,
            tuple(sorted(colors[n] for n in graph.predecessors(node))),
            tuple(sorted(colors[n] for n in graph.successors(node))),
        )
        for node, color in colors.items()
    }
