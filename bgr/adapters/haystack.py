"""A component for Haystack: ``pip install 'bgr[haystack]'``.

pipeline = haystack.Pipeline()
pipeline.add_component("retriever", GraphRetriever(collection="work/films"))
found = pipeline.run({"retriever": {"query": "Which film by the director of Persona came out in 1972?"}})
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise ImportError(f"{error.name} is not installed: pip install 'bgr[haystack]'") from None

from bgr.adapters.evidence import EvidenceSource
from bgr.collection.collection import Collection
from bgr.errors import BgrError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Retriever


@component
class GraphRetriever:
    """A component over a pipeline or any other retriever of this package, with the input ``query`` and the output
    ``documents``.

    The metadata of a document is that of `bgr.adapters.evidence.Evidence`. Errors are those of `EvidenceSource`, of
    `BgrPipeline.from_pretrained` and of `Collection.open`.

    Args:
        retriever: a retriever, or the checkpoint of a pipeline as `BgrPipeline.from_pretrained` takes it; default: the
            released weights.
        collection: the texts to search, or their folder; ``None`` for a retriever that has its own.
    """

    def __init__(
        self, retriever: Retriever | str | None = None, collection: Collection | str | Path | None = None
    ) -> None:
        self.retriever, self.collection = retriever, collection
        self._source: EvidenceSource | None = None

    def warm_up(self) -> None:
        """Load what was given by name."""
        if self._source is None:
            retriever, collection = self.retriever, self.collection
            if not isinstance(retriever, Retriever):
                retriever = BgrPipeline.from_pretrained(retriever)
            if isinstance(collection, str | Path):
                collection = Collection.open(collection)
            self._source = EvidenceSource(retriever, collection)

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        """The evidence for a question, best first."""
        self.warm_up()
        assert self._source is not None
        [found] = self._source.find([query])
        documents = [Document(id=one.id, content=one.text, meta=one.metadata, score=one.score) for one in found]
        return {"documents": documents}

    def to_dict(self) -> dict[str, Any]:
        """The settings, from which `from_dict` makes the same component.

        Raises:
            BgrError: the retriever or the collection was not given by name.
        """
        if isinstance(self.retriever, Retriever) or isinstance(self.collection, Collection):
            raise BgrError("a GraphRetriever can be stored only if its retriever and its collection are given by name")
        collection = None if self.collection is None else str(self.collection)
        settings: dict[str, Any] = default_to_dict(self, retriever=self.retriever, collection=collection)
        return settings

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GraphRetriever:
        """The component with the settings of `to_dict`."""
        made: GraphRetriever = default_from_dict(cls, data)
        return made
