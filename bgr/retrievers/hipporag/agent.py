"""HippoRAG (Gutiérrez et al., 2024): personalized PageRank from a question's entities over the graph of triples."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from bgr.collection.search import Hits, best
from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import encode_queries
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.retrievers.base import Query, RetrievalResult, star
from bgr.retrievers.hipporag.graph import EntityGraph, entity_name
from bgr.retrievers.hipporag.steps import PAPER, HippoSettings, entities_request, read_entities
from bgr.retrievers.llm_retriever import LlmRetriever, step_record
from bgr.retrievers.scope import Scope, pairs


class HippoRag(LlmRetriever):
    """Each entity that a model finds in the question restarts the walk at its nearest node, with the weight 1 / (number
    of that node's passages). A passage's score is the probability of its entities, each as often as its triples have it
    (paper, section 2.3). Passages that the walk does not reach are left out.

    If the question has no entity, or the step failed (which is counted), the result is that of the base search.

    The triples are those of the collection; the encoder of their index also encodes the names of entities. The graph is
    built once for a collection.
    """

    base_search = "dense"
    follows_triples = True

    def __init__(self, llm: LanguageModel, scope: Scope, settings: HippoSettings = PAPER) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self._graphs: WeakKeyDictionary[TripleIndex, EntityGraph] = WeakKeyDictionary()

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The ranked passages; the graph is a star over them, or over the first `Query.gold_count`."""
        replies = self.llm.ask([entities_request(query.question, self.settings) for query in queries])
        reads = [read_entities(reply, self.settings.entities) for reply in replies]
        return [self._result(query, read) for query, read in zip(queries, reads, strict=True)]

    def _result(self, query: Query, read: ParsedReply) -> RetrievalResult:
        scope = self.scope.of(query)
        nodes: list[int] = []
        if read.value and len(scope.index):
            graph = self._graph(scope)
            found = graph.rows.nearest(encode_queries(scope.index.encoder, read.value), 1)
            nodes = [int(hits.indices[0]) for hits in found]
            hits = self._walk(graph, nodes)
        else:
            (hits,) = scope.find([query.question], self.settings.passages)
        names = [entity_name(scope.index, node) for node in nodes]
        record = step_record("entities", read, entities=read.value, nodes=names, start="nodes" if nodes else "base")
        fused = {"step": "walk", "fused": hits.indices.tolist()}
        return RetrievalResult(
            star(hits.indices[: query.gold_count].tolist()),
            ranking=pairs(hits),
            searched=scope.corpus,
            usage=read.usage,
            trace=(record, fused),
            is_list=True,
        )

    def _graph(self, scope: Scope) -> EntityGraph:
        found = self._graphs.get(scope.index)
        if found is None:
            settings = self.settings
            found = EntityGraph.of(scope.index, len(scope.corpus), synonym=settings.synonym, synonyms=settings.synonyms)
            self._graphs[scope.index] = found
        return found

    def _walk(self, graph: EntityGraph, nodes: Sequence[int]) -> Hits:
        settings = self.settings
        restart = np.zeros(len(graph.rows))
        for node in dict.fromkeys(nodes):
            restart[node] = 1 / graph.passages[node] if settings.specificity else 1.0
        restart /= restart.sum()
        probability = graph.pagerank(restart, damping=settings.damping, tolerance=settings.tolerance)
        hits = best((graph.mentions @ probability).astype(np.float32), settings.passages)
        reached = hits.scores > 0
        return Hits(hits.indices[reached], hits.scores[reached])
