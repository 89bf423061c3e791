"""A retriever for LlamaIndex: ``pip install 'bgr[llamaindex]'``.

retriever = GraphRetriever(pipeline, collection)
nodes = retriever.retrieve("Which film by the director of Persona came out in 1972?")
"""

from __future__ import annotations

from typing import Any

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise ImportError(f"{error.name} is not installed: pip install 'bgr[llamaindex]'") from None

from bgr.adapters.evidence import Evidence, EvidenceSource
from bgr.collection.collection import Collection
from bgr.retrievers.base import Retriever


class GraphRetriever(BaseRetriever):
    """A `BaseRetriever` over a pipeline or any other retriever of this package.

    The metadata of a node is that of `bgr.adapters.evidence.Evidence`; language models and embeddings see the text
    alone. Errors are those of `EvidenceSource`.

    Args:
        retriever: a pipeline or any other retriever.
        collection: the texts to search; ``None`` for a retriever that has its own.
        options: arguments of `BaseRetriever`, such as ``callback_manager``.
    """

    def __init__(self, retriever: Retriever, collection: Collection | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._source = EvidenceSource(retriever, collection)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        [found] = self._source.find([query_bundle.query_str])
        return [NodeWithScore(node=_node(one), score=one.score) for one in found]


def _node(one: Evidence) -> TextNode:
    hidden = list(one.metadata)
    return TextNode(
        id_=one.id,
        text=one.text,
        metadata=one.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
