"""The graphs of both directions before they are merged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.base import KEPT, RetrievalResult
from bgr.retrievers.graph_hop.completeness import Refusal
from bgr.retrievers.graph_hop.fusion import Fusion
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.reconstruction import reconstruct


@dataclass(frozen=True)
class DirectedGraphs:
    """The graphs of both directions for one question, before reconstruction, the texts that one of the directions
    truncated (`RetrievalResult.truncated`), and the candidates that one of them read, ``None`` for all."""

    forward: DirectionResult
    backward: DirectionResult
    truncated: tuple[int, ...] = ()
    kept: tuple[int, ...] | None = None

    def merged(
        self, rule: str, gamma: float, *, fusion: Fusion | None = None, refusal: Refusal | None = None
    ) -> RetrievalResult:
        """The graph by a reconstruction rule (`bgr.retrievers.graph_hop.reconstruction.reconstruct`); empty if the
        evidence is refused."""
        found = reconstruct(self.forward, self.backward, rule, gamma, fusion=fusion)
        refusal = refusal or Refusal()
        completeness = refusal.completeness(self.forward, self.backward, found.graph)
        if completeness is not None and completeness < refusal.threshold:
            found = replace(found, graph=EvidenceGraph())
        details = {} if self.kept is None else {KEPT: list(self.kept)}
        return replace(found, details=details, truncated=self.truncated, completeness=completeness)
