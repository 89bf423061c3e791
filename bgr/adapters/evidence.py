"""Evidence for other libraries: texts with plain metadata that says where each of them stands in its graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.collection.collection import Collection
from bgr.collection.corpus import Passage
from bgr.graph.evidence_graph import ROOT
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.search import TwoStage


@dataclass(frozen=True)
class Evidence:
    """One text that was retrieved for a question.

    Args:
        id: that of the text in its collection.
        text: title and text.
        score: as in `RetrievalResult.scores`, higher is better.
        metadata: plain JSON values: ``title``; ``step``, the place in the order of reasoning from 0, ``None`` outside
            the graph; ``after``, the ids of the texts that it was found from, ``None`` for the question; ``graph``, all
            edges ``[from, to, score]`` by ids, the same for all texts of a question; and ``completeness``.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


class EvidenceSource:
    """A retriever over a collection, for one thread at a time.

    Args:
        retriever: a pipeline or any other retriever.
        collection: the texts to search; ``None`` for a retriever that has its own, such as ``Gear.over(collection)``.
    """

    def __init__(self, retriever: Retriever, collection: Collection | None = None) -> None:
        if collection is not None:
            if isinstance(retriever, BgrPipeline):
                retriever = retriever.over(collection)
            else:
                retriever = TwoStage.over(collection, retriever)
        self.retriever = retriever
        self._lock = threading.Lock()  # other libraries call from several threads, and tokenizers have a state

    def find(self, questions: Sequence[str]) -> list[list[Evidence]]:
        """The evidence for each question, best first.

        Raises:
            BgrError: a question is empty, the retriever has no collection, or as it says itself.
        """
        with self._lock:
            results = self.retriever.retrieve([Query(question) for question in questions])
        return [_evidence(result) for result in results]


def _evidence(result: RetrievalResult) -> list[Evidence]:
    graph = result.graph
    step = {node: number for number, node in enumerate(graph.order())}
    edges = [[_id(result, a), _id(result, b), graph.scores.get((a, b))] for a, b in sorted(graph.edges)]
    found = []
    for index, score, text in zip(result.indices, result.scores, result.texts, strict=True):
        passage = result.searched[index]
        metadata = {
            "title": passage.title if isinstance(passage, Passage) else "",
            "step": step.get(index),
            "after": [_id(result, before) for before in graph.predecessors(index)],
            "graph": edges,
            "completeness": result.completeness,
        }
        found.append(Evidence(_id(result, index) or "", text, score, metadata))
    return found


def _id(result: RetrievalResult, index: int) -> str | None:
    if index == ROOT:
        return None
    passage = result.searched[index]
    return passage.id if isinstance(passage, Passage) else str(index)
