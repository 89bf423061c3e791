"""Retrievers of one interface (`bgr.retrievers.base`); their classes are imported when they are first asked for.

from bgr.retrievers import Gear, Query

gear = Gear.over(collection, llm="http://localhost:8000/v1#model")
[result] = gear.retrieve([Query("Which …?")])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgr.retrievers.base import Query as Query
    from bgr.retrievers.base import RetrievalResult as RetrievalResult
    from bgr.retrievers.base import Retriever as Retriever
    from bgr.retrievers.baselines.single_hop import Bm25Facts as Bm25Facts
    from bgr.retrievers.baselines.single_hop import RandomFacts as RandomFacts
    from bgr.retrievers.baselines.trained import TrainedBaseline as TrainedBaseline
    from bgr.retrievers.bridgerag.agent import BridgeRag as BridgeRag
    from bgr.retrievers.gear.agent import Gear as Gear
    from bgr.retrievers.gear.sync import NaiveGe as NaiveGe
    from bgr.retrievers.gear.sync import SyncGe as SyncGe
    from bgr.retrievers.hipporag.agent import HippoRag as HippoRag
    from bgr.retrievers.ircot.agent import Ircot as Ircot
    from bgr.retrievers.llm_graph.retriever import LlmGraph as LlmGraph
    from bgr.retrievers.prism.agent import Prism as Prism
    from bgr.retrievers.rerank.agent import Rerank as Rerank
    from bgr.retrievers.search import SearchRetriever as SearchRetriever
    from bgr.retrievers.search import TwoStage as TwoStage

MODULES = {
    "BridgeRag": "bridgerag.agent",
    "Bm25Facts": "baselines.single_hop",
    "Gear": "gear.agent",
    "HippoRag": "hipporag.agent",
    "Ircot": "ircot.agent",
    "LlmGraph": "llm_graph.retriever",
    "NaiveGe": "gear.sync",
    "Prism": "prism.agent",
    "Query": "base",
    "RandomFacts": "baselines.single_hop",
    "Rerank": "rerank.agent",
    "RetrievalResult": "base",
    "Retriever": "base",
    "SearchRetriever": "search",
    "SyncGe": "gear.sync",
    "TrainedBaseline": "baselines.trained",
    "TwoStage": "search",
}
"""Class to module: options of the command line are imported from here too, which must stay quick."""


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has: {', '.join(sorted(MODULES))}")
    return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)
