"""Retrievers: queries in, ranked texts and evidence graphs out. BGR itself is `bgr.BgrPipeline`.

The public names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts
    from bgr.retrievers.baselines.trained import TrainedBaseline
    from bgr.retrievers.bridgerag.agent import BridgeRag
    from bgr.retrievers.gear.agent import Gear
    from bgr.retrievers.gear.naive import NaiveGe
    from bgr.retrievers.gear.sync import SyncGe
    from bgr.retrievers.llm_graph.retriever import LlmGraph
    from bgr.retrievers.prism.agent import Prism
    from bgr.retrievers.search import SearchRetriever, TwoStage

_MODULES = {
    "Bm25Facts": "bgr.retrievers.baselines.single_hop",
    "BridgeRag": "bgr.retrievers.bridgerag.agent",
    "Gear": "bgr.retrievers.gear.agent",
    "LlmGraph": "bgr.retrievers.llm_graph.retriever",
    "NaiveGe": "bgr.retrievers.gear.naive",
    "Prism": "bgr.retrievers.prism.agent",
    "RandomFacts": "bgr.retrievers.baselines.single_hop",
    "SearchRetriever": "bgr.retrievers.search",
    "SyncGe": "bgr.retrievers.gear.sync",
    "TrainedBaseline": "bgr.retrievers.baselines.trained",
    "TwoStage": "bgr.retrievers.search",
}

__all__ = [
    "Bm25Facts",
    "BridgeRag",
    "Gear",
    "LlmGraph",
    "NaiveGe",
    "Prism",
    "RandomFacts",
    "SearchRetriever",
    "SyncGe",
    "TrainedBaseline",
    "TwoStage",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
