"""How BridgeRAG's passages hang together: the question leads to the bridge, the bridge to what was found by it."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.graph import ROOT, EvidenceGraph


def bridge_graph(bridge: int | None, places: Sequence[int], top: int) -> EvidenceGraph:
    """Q → bridge → each of the `top` first passages; these hang from Q where the bridge is not among `places`.

    Args:
        bridge: its place in the corpus.
        places: the result's; the graph's facts are numbers into it.
        top: how many passages count as found; the bridge is in the graph even where it ranks lower.
    """
    found = range(min(top, len(places)))
    if bridge is None or bridge not in places:
        return EvidenceGraph({(ROOT, n) for n in found})
    start = list(places).index(bridge)
    return EvidenceGraph({(ROOT, start)} | {(start, n) for n in found if n != start})
