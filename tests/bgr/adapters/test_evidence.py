import json
import threading

import pytest

from bgr.adapters.evidence import EvidenceSource
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.baselines.single_hop import Bm25Facts

from .conftest import QUESTION


class Fixed(Retriever):
    """The same graph for every query, over the texts of a collection; counts the threads that are in it."""

    def __init__(self, graph, corpus):
        self.graph, self.corpus = graph, corpus
        self.inside, self.most = 0, 0

    def retrieve(self, queries):
        self.inside += 1
        self.most = max(self.most, self.inside)
        threading.Event().wait(0.01)
        self.inside -= 1
        return [RetrievalResult(self.graph, searched=self.corpus, completeness=0.5) for _ in queries]


def test_metadata_says_where_a_text_stands(collection):
    graph = EvidenceGraph([(ROOT, 2), (2, 0), (ROOT, 0)], {(ROOT, 2): 0.9, (2, 0): 0.8, (ROOT, 0): 0.7})
    [[first, second]] = EvidenceSource(Fixed(graph, collection.corpus)).find([QUESTION])
    edges = [[None, "f", 0.7], [None, "p", 0.9], ["p", "f", 0.8]]
    shared = {"graph": edges, "completeness": 0.5}
    assert (first.id, first.score) == ("p", 0.9)
    assert first.metadata == {"title": "", "step": 0, "after": [None], **shared}
    assert (second.id, second.text) == ("f", "Persona\nPersona was made in Sweden .")
    assert second.metadata == {"title": "Persona", "step": 1, "after": [None, "p"], **shared}
    assert json.loads(json.dumps(first.metadata)) == first.metadata


def test_a_pipeline_finds_its_candidates_in_the_collection(pipeline, collection):
    [found] = EvidenceSource(pipeline, collection).find([QUESTION])
    [result] = pipeline.over(collection).retrieve([Query(QUESTION)])
    assert found
    assert [one.text for one in found] == list(result.texts)
    assert [one.score for one in found] == list(result.scores)
    assert {one.id for one in found} == {collection.corpus[node].id for node in result.graph.nodes}


def test_a_ranked_list_has_texts_outside_the_graph(search):
    [found] = EvidenceSource(search).find(["Persona ?"])
    assert found[0].id == "f"
    assert found[0].metadata["after"] == [None]


def test_another_retriever_over_a_collection(collection, word_encoder):
    with_vectors = type(collection).in_memory(collection.corpus, encoder=word_encoder)
    [found] = EvidenceSource(Bm25Facts(2), with_vectors).find([QUESTION])
    assert "f" in {one.id for one in found}


def test_no_evidence_is_an_empty_list(collection):
    assert EvidenceSource(Fixed(EvidenceGraph(), collection.corpus)).find([QUESTION] * 2) == [[], []]


def test_one_thread_at_a_time(collection):
    retriever = Fixed(EvidenceGraph(), collection.corpus)
    source = EvidenceSource(retriever)
    threads = [threading.Thread(target=source.find, args=([QUESTION],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert retriever.most == 1


def test_without_a_collection_there_is_nothing_to_search(pipeline):
    with pytest.raises(BgrError, match="this retriever needs candidates"):
        EvidenceSource(pipeline).find([QUESTION])
