"""Question and facts in, evidence graph and answer out: `BgrPipeline`."""

from bgr.pipeline.directions import DirectedGraphs, read_alike
from bgr.pipeline.pipeline import BgrPipeline
from bgr.reader.answer import Answer
from bgr.retrievers.graph_hop.options import MAX_FACTS

__all__ = ["MAX_FACTS", "Answer", "BgrPipeline", "DirectedGraphs", "read_alike"]
