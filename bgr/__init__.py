"""Graph-hop retrieval: question and facts in, evidence graph and answer out.

The public names are loaded when they are first used, so that ``import bgr`` loads neither PyTorch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgr.collection.collection import Collection as Collection
    from bgr.data.example import Example as Example
    from bgr.errors import BgrError as BgrError
    from bgr.graph.evidence_graph import EvidenceGraph as EvidenceGraph
    from bgr.pipeline import Answer as Answer
    from bgr.pipeline import BgrPipeline as BgrPipeline
    from bgr.retrievers.base import Query as Query
    from bgr.retrievers.base import RetrievalResult as RetrievalResult
    from bgr.retrievers.base import Retriever as Retriever

__version__ = "0.2.0"

_MODULES = {
    "Answer": "bgr.pipeline",
    "BgrError": "bgr.errors",
    "BgrPipeline": "bgr.pipeline",
    "Collection": "bgr.collection.collection",
    "EvidenceGraph": "bgr.graph.evidence_graph",
    "Example": "bgr.data.example",
    "Query": "bgr.retrievers.base",
    "RetrievalResult": "bgr.retrievers.base",
    "Retriever": "bgr.retrievers.base",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; public names: {', '.join(__all__)}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
