"""Runners against what each question would give alone."""

from dataclasses import replace

import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.collection.search import Search
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.interface import Completion, Message, Request
from bgr.llm.language_model import Llm
from bgr.llm.usage import Usage
from bgr.reader.passage_reader import PassageReader
from bgr.retrievers.base import PassageResult, PassageRetriever, RetrievalResult, Retriever
from eval.passages.answers import LlmAnswers
from eval.passages.run import SearchRetriever
from eval.passages.runners import Answering, ByGraph, Given, OverContexts, OverCorpus, ranked_nodes


@pytest.fixture
def data(data):
    """The questions with passages of their own."""
    contexts = (("p5", "p1", "p0"), ("p2",), ("p4", "p3", "p9"), ("p8",))
    questions = tuple(replace(q, context=context) for q, context in zip(data.questions, contexts, strict=True))
    return replace(data, questions=questions)


class Model:
    """Repeats the last word of what it is asked, and remembers the batches."""

    name = "model"

    def __init__(self):
        self.batches = []

    def complete(self, requests):
        self.batches.append([request.messages[0].content for request in requests])
        return [Completion(request.messages[0].content.split()[-1], 5, 2) for request in requests]

    def each(self, requests):
        yield from enumerate(self.complete(requests))


class AsksTwice(PassageRetriever):
    """Asks about the question, then about what it was told; finds the whole corpus."""

    def __init__(self, llm, corpus):
        self.llm, self.corpus = llm, corpus

    def retrieve(self, questions):
        (question,) = questions
        first = self.llm.ask([Request("s", (Message("user", f"about {question}"),))])[0]
        second = self.llm.ask([Request("s", (Message("user", f"{len(self.corpus)} of {first.value}"),))])[0]
        places = tuple(range(len(self.corpus)))
        scores = tuple(-float(place) for place in places)
        return [PassageResult(places, scores, answer=second.value, usage=first.usage + second.usage)]


def test_a_search_over_its_own_passages(data):
    from bgr.collection.corpus import Corpus

    def make(places, _):
        corpus = Corpus(data.corpus[place] for place in places)
        return SearchRetriever(Bm25Search([passage.whole for passage in corpus]), 50), corpus

    found = OverContexts(make, data.corpus, None).run(data.questions)
    assert [one.id for one in found] == ["q1", "q2", "q3", "q4"]
    for one, question in zip(found, data.questions, strict=True):
        assert set(one.passages) == set(question.context)
    assert len({one.seconds for one in found}) == 1


def test_questions_ask_together(data):
    from bgr.collection.corpus import Corpus

    def make(places, llm):
        corpus = Corpus(data.corpus[place] for place in places)
        return AsksTwice(llm, corpus), corpus

    model = Model()
    found = OverContexts(make, data.corpus, Llm(model)).run(data.questions)
    assert [one.answer for one in found] == ["one?", "two?", "three?", "four?"]
    assert found[0].passages == ("p5", "p1", "p0")
    assert [batch for batch in model.batches if batch] == [
        ["about one?", "about two?", "about three?", "about four?"],
        ["3 of one?", "1 of two?", "3 of three?", "1 of four?"],
    ]
    assert all((one.usage.calls, one.usage.tokens_in, one.usage.tokens_out) == (2, 10, 4) for one in found)


class Chain(Retriever):
    """Q → second fact → first fact, with the lower score on the second edge."""

    def __init__(self):
        self.queries = []

    def retrieve(self, queries):
        self.queries += queries
        return [self._one(query) for query in queries]

    def _one(self, query):
        if len(query.facts) < 2:
            return RetrievalResult(EvidenceGraph(), details={"usage": Usage(calls=1, tokens_in=3).to_json()})
        graph = EvidenceGraph([(ROOT, 1), (1, 0)], {(ROOT, 1): 0.4, (1, 0): 0.9})
        return RetrievalResult(graph, ("cycle", "max_paths") if len(query.facts) == 3 else ())


def test_graphs_over_the_passages_of_a_question(data):
    retriever = Chain()
    first, second, *_ = ByGraph(retriever, data.corpus).run(data.questions)
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
        import numpy as np

        from bgr.collection.search import Hits

        return [Hits(np.arange(9, 9 - k, -1), np.ones(k, np.float32)) for _ in queries]


def test_graphs_over_the_best_of_a_search(data):
    retriever = Chain()
    found = ByGraph(retriever, data.corpus, LastFirst(), most=3).run(data.questions[:1])
    assert retriever.queries[0].facts == ["text 9", "text 8", "text 7"]
    assert found[0].passages == ("p9", "p8")


def test_nodes_are_ranked_by_their_best_edge_then_in_the_order_of_reasoning():
    edges = {(ROOT, 0): 0.2, (ROOT, 3): 0.5, (3, 0): 0.9}
    graph = EvidenceGraph([*edges, (0, 1), (1, 2)], edges)
    assert ranked_nodes(graph) == [(0, 0.9), (3, 0.5), (1, 0.0), (2, 0.0)]
    assert ranked_nodes(EvidenceGraph()) == []


def test_the_bounds(data):
    question = replace(data.questions[0], graph=EvidenceGraph([(ROOT, 1), (1, 0)]))
    (gold,), (nothing,) = Given(gold=True).run([question]), Given(gold=False).run([question])
    assert (gold.passages, gold.graph) == (("p0", "p1"), question.graph)
    assert (nothing.passages, nothing.graph) == ((), EvidenceGraph())


def test_answers_replace_and_add_up(data):
    class Reads(Model):
        def complete(self, requests):
            return [Completion('{"answer": "red"}', 7, 1) for _ in requests]

    inner = ByGraph(Chain(), data.corpus)
    found = Answering(inner, LlmAnswers(PassageReader(Llm(Reads())), data.corpus)).run(data.questions[:2])
    assert [one.answer for one in found] == ["red", "red"]
    assert [one.usage.tokens_in for one in found] == [7, 10]
    assert found[1].usage.calls == 2
    assert [step["step"] for step in found[1].trace] == ["graph", "answer"]


def test_a_retriever_over_one_corpus(data, scripted, good):
    found = OverCorpus(scripted(good), data.corpus).run(data.questions)
    assert [one.passages for one in found] == [("p0", "p1", "p5"), ("p2",), ("p3", "p4"), ("p9",)]
