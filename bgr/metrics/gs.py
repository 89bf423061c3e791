"""Graph Structure: do the retrieved and the gold graph have one shape? (paper, section 5.3)

Colour refinement first, which settles every tree; what it leaves open is settled by fixing one node at a time and
trying each of its possible images, so that the answer is always exact. An image that a symmetry of the graph turns into
one that failed is not tried: many equal parts beside a small difference cost no more than one of them.
"""

from __future__ import annotations

from collections import Counter

from bgr.graph.evidence_graph import ROOT, EvidenceGraph

Colours = dict[int, int]


def graph_structure_match(predicted: EvidenceGraph, gold: EvidenceGraph) -> bool:
    """Whether the two graphs are isomorphic as directed graphs with ``Q`` mapped to ``Q``. Higher is better.

    Which fact stands where does not count. Two empty graphs match. `graph_match` implies this. The authors' code
    reports it under the name "graph"; it does not pin ``Q``, which changes nothing as long as every fact hangs from it:
    then ``Q`` is the only node that nothing leads to.
    """
    if predicted.edges == gold.edges:
        return True
    if len(predicted.edges) != len(gold.edges) or len(predicted.nodes) != len(gold.nodes):
        return False
    return _isomorphic(predicted, gold, _root_apart(predicted), _root_apart(gold))


def _root_apart(graph: EvidenceGraph) -> Colours:
    return {ROOT: 0, **dict.fromkeys(graph.nodes, 1)}


def _isomorphic(a: EvidenceGraph, b: EvidenceGraph, colours_a: Colours, colours_b: Colours) -> bool:
    """Whether an isomorphism exists that keeps the colours."""
    refined = _refine(a, b, colours_a, colours_b)
    if refined is None:
        return False
    colours_a, colours_b = refined
    sizes = Counter(colours_a.values())
    open_colours = [colour for colour, size in sizes.items() if size > 1]
    if not open_colours:
        image = {colour: node for node, colour in colours_b.items()}
        return {(image[colours_a[u]], image[colours_a[v]]) for u, v in a.edges} == b.edges
    colour = min(open_colours, key=lambda c: (sizes[c], c))
    node = min(n for n, c in colours_a.items() if c == colour)
    fresh = len(colours_a)  # above every colour in use
    fixed = {**colours_a, node: fresh}
    failed: list[Colours] = []
    for image_node in sorted(n for n, c in colours_b.items() if c == colour):
        tried = {**colours_b, image_node: fresh}
        if any(_isomorphic(b, b, tried, other) for other in failed):
            continue
        if _isomorphic(a, b, fixed, tried):
            return True
        failed.append(tried)
    return False


def _refine(
    a: EvidenceGraph, b: EvidenceGraph, colours_a: Colours, colours_b: Colours
) -> tuple[Colours, Colours] | None:
    """Split the colours by those of the neighbours until nothing splits; None where the two graphs come apart."""
    count = len(set(colours_a.values()))
    while True:
        signs_a, signs_b = _signatures(a, colours_a), _signatures(b, colours_b)
        if Counter(signs_a.values()) != Counter(signs_b.values()):
            return None
        names = {sign: number for number, sign in enumerate(sorted(set(signs_a.values())))}
        colours_a = {node: names[sign] for node, sign in signs_a.items()}
        colours_b = {node: names[sign] for node, sign in signs_b.items()}
        if len(names) == count:
            return colours_a, colours_b
        count = len(names)


def _signatures(graph: EvidenceGraph, colours: Colours) -> dict[int, tuple[int, tuple[int, ...], tuple[int, ...]]]:
    return {
        node: (
            colour,
            tuple(sorted(colours[n] for n in graph.predecessors(node))),
            tuple(sorted(colours[n] for n in graph.successors(node))),
        )
        for node, colour in colours.items()
    }
