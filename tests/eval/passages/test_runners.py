"""One loop runs all systems: over the corpus, over each question's own passages, and with a reader."""

from dataclasses import replace

import numpy as np
import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.collection.search import Hits, Search
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.interface import Backend, Completion
from bgr.llm.language_model import Llm
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever, ranked_nodes
from bgr.retrievers.scope import Scope
from bgr.retrievers.search import SearchRetriever, TwoStage
from eval.run.passage_answers import LlmAnswers, PassageReader
from eval.run.passage_scores import cut
from eval.run.run_system import Bound, ResultLog, System, run_system


@pytest.fixture
def data(data):
    """The questions with passages of their own; the first two read alike."""
    contexts = (("p5", "p1", "p0"), ("p2",), ("p4", "p3", "p9"), ("p8",))
    questions = tuple(replace(q, context=context) for q, context in zip(data.questions, contexts, strict=True))
    return replace(data, questions=(questions[0], replace(questions[1], question="one?"), *questions[2:]))


@pytest.fixture
def run(data, tmp_path):
    """``run(retriever, within=True)``: the results of all questions."""

    def make(retriever, **settings):
        with ResultLog(tmp_path / "results.jsonl") as log:
            return run_system(System("s", {}, lambda: retriever, **settings), data, log)

    return make


def test_a_search_over_the_passages_of_a_question(data, run):
    search = Bm25Search([passage.whole for passage in data.corpus])
    found = run(SearchRetriever(Scope(data.corpus, search), 50), within=True)
    assert [one.id for one in found] == ["q1", "q2", "q3", "q4"]
    for one, question in zip(found, data.questions, strict=True):
        assert set(one.passages) == set(question.context)
        assert one.graph is None  # a list


class Chain(Retriever):
    """Q → second fact → first fact, with the lower score on the second edge."""

    def __init__(self):
        self.queries = []

    def retrieve(self, queries):
        self.queries += queries
        return [self._one(query) for query in queries]

    def _one(self, query):
        if len(query.facts) < 2:
            usage = Usage(calls=1, tokens_in=3)
            return RetrievalResult(EvidenceGraph(), details={"usage": usage.to_json()}, usage=usage)
        graph = EvidenceGraph([(ROOT, 1), (1, 0)], {(ROOT, 1): 0.4, (1, 0): 0.9})
        return RetrievalResult(graph, ("cycle", "max_paths") if len(query.facts) == 3 else ())


def test_graphs_over_the_passages_of_a_question(run):
    retriever = Chain()
    first, second, *_ = run(retriever, within=True)
    assert retriever.queries[0].facts == ["text 5", "text 1", "text 0"]
    assert retriever.queries[0].gold_count == 2
    assert retriever.queries[2].gold_count == 2  # one of them is not in the corpus
    assert (first.passages, first.scores) == (("p5", "p1"), (0.9, 0.4))
    assert first.graph.edges == {(ROOT, 1), (1, 0)}
    assert (second.passages, second.graph.edges, second.usage.tokens_in) == ((), frozenset(), 3)
    assert second.trace[0]["step"] == "graph"
    assert first.trace == ({"step": "graph", "limits": ["cycle", "max_paths"]},)
    assert "limits" not in second.trace[0]


class LastFirst(Search):
    """The passages from the end."""

    def __len__(self):
        return 10

    def search_all(self, queries, k):
        return [Hits(np.arange(9, 9 - k, -1), np.ones(k, np.float32)) for _ in queries]


def test_graphs_over_the_best_of_a_search(data, run):
    retriever = Chain()
    found = run(TwoStage(retriever, Scope(data.corpus, LastFirst()), count=3))
    assert retriever.queries[0].facts == ["text 9", "text 8", "text 7"]
    assert found[0].passages == ("p9", "p8")
    assert found[0].graph.edges == {(ROOT, 1), (1, 0)}


def test_a_retriever_of_graphs_needs_candidates():
    with pytest.raises(BgrError, match="question 'one\\?': this retriever needs candidates"):
        Chain().retrieve([Query("one?")])


def test_indices_count_in_the_collection(data):
    two_stage = TwoStage(Chain(), Scope(data.corpus, LastFirst()), count=3)
    own, found = two_stage.retrieve([Query("a?", ["x", "y", "z"]), Query("b?")])
    assert (own.indices, own.graph.edges) == ((0, 1), {(ROOT, 1), (1, 0)})
    assert (found.indices, found.texts) == ((9, 8), ("text 9", "text 8"))
    assert found.graph.edges == {(ROOT, 8), (8, 9)}


def test_nodes_are_ranked_by_their_best_edge_then_in_the_order_of_reasoning():
    edges = {(ROOT, 0): 0.2, (ROOT, 3): 0.5, (3, 0): 0.9}
    graph = EvidenceGraph([*edges, (0, 1), (1, 2)], edges)
    assert ranked_nodes(graph) == [(0, 0.9), (3, 0.5), (1, 0.0), (2, 0.0)]
    assert ranked_nodes(EvidenceGraph()) == []


def test_the_bounds(data, tmp_path):
    graph = EvidenceGraph([(ROOT, 1), (1, 0)])
    data = replace(data, questions=(replace(data.questions[0], graph=graph), data.questions[1]))
    with ResultLog(tmp_path / "results.jsonl") as log:
        gold, listed = run_system(System("gold", {}, lambda: Bound(data.corpus, gold=True)), data, log)
        nothing, _ = run_system(System("nothing", {}, lambda: Bound(data.corpus, gold=False)), data, log)
    assert (gold.passages, gold.scores, gold.graph) == (("p0", "p1"), (1.0, 0.5), graph)
    assert (listed.passages, listed.graph) == (("p2",), None)  # the data have no graph of it
    assert (nothing.passages, nothing.graph) == ((), EvidenceGraph())


def test_answers_replace_and_add_up(data, run):
    class Reads(Backend):
        name = "model"

        def each(self, requests):
            yield from enumerate(Completion('{"answer": "red"}', 7, 1) for _ in requests)

    answers = LlmAnswers(PassageReader(Llm(Reads())), data.corpus)
    found = run(Chain(), within=True, answers=lambda: answers)[:2]
    assert [one.answer for one in found] == ["red", "red"]
    assert [one.usage.tokens_in for one in found] == [7, 10]
    assert found[1].usage.calls == 2
    assert [step["step"] for step in found[1].trace] == ["graph", "answer"]


def test_a_retriever_over_one_corpus(data, run, scripted, good):
    found = run(scripted(good | {"one?": good["one?"]}))
    assert [one.passages for one in found] == [("p0", "p1", "p5"), ("p0", "p1", "p5"), ("p3", "p4"), ("p9",)]


def test_truncated_texts_are_a_limit_of_the_question(data, run):
    class Reads(Retriever):
        def retrieve(self, queries):
            return [RetrievalResult(EvidenceGraph(), truncated=(ROOT,) if len(q.facts) == 3 else ()) for q in queries]

    found = run(Reads(), within=True)
    assert [cut(one) for one in found] == [{"tokens"} if len(q.context) == 3 else set() for q in data.questions]
