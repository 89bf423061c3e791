"""A retriever for LangChain: ``pip install 'bgr[langchain]'``.

retriever = GraphRetriever(pipeline, collection)
documents = retriever.invoke("Which film by the director of Persona came out in 1972?")
"""

from __future__ import annotations

from typing import Any

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import PrivateAttr
except ModuleNotFoundError as error:
    raise ImportError(f"{error.name} is not installed: pip install 'bgr[langchain]'") from None

from bgr.adapters.evidence import EvidenceSource
from bgr.collection.collection import Collection
from bgr.retrievers.base import Retriever


class GraphRetriever(BaseRetriever):
    """A `BaseRetriever` over a pipeline or any other retriever of this package.

    The metadata of a document is that of `bgr.adapters.evidence.Evidence`, with ``score``. Errors are those of
    `EvidenceSource`.

    Args:
        retriever: a pipeline or any other retriever.
        collection: the texts to search; ``None`` for a retriever that has its own.
        options: fields of `BaseRetriever`, such as ``tags``.
    """

    _source: EvidenceSource = PrivateAttr()

    def __init__(self, retriever: Retriever, collection: Collection | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._source = EvidenceSource(retriever, collection)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        [found] = self._source.find([query])
        return [
            Document(id=one.id, page_content=one.text, metadata={**one.metadata, "score": one.score}) for one in found
        ]
