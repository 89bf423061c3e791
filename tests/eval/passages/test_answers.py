"""Answers are read from the evidence of each system."""

from types import SimpleNamespace

from bgr.collection.corpus import Corpus, Passage
from bgr.data.multihop.assemble import MultihopQuestion
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.llm_graph.answerer import LlmAnswer
from eval.run.passage_answers import GraphAnswers
from eval.run.question_result import QuestionResult


class Recorder:
    """An answerer that records its inputs."""

    llm = SimpleNamespace(workers=1)

    def answer(self, items):
        self.items = list(items)
        return [LlmAnswer("x") for _ in items]


def test_facts_stand_as_in_the_context_whatever_order_a_system_ranks_them_in():
    corpus = Corpus(Passage(name, "", f"Fact {name}.") for name in "abcd")
    question = MultihopQuestion("q", "Q?", (), ("d", "b"), 2, "", context=("d", "c", "b", "a"))
    graph = EvidenceGraph([(ROOT, 0), (0, 1)])  # a, then d
    found = QuestionResult("q", ("a", "d"), (0.9, 0.8), graph=graph)
    recorder = Recorder()
    GraphAnswers(recorder, corpus)([question, question], [found, QuestionResult("q", ("a", "d", "c"), (3.0, 2.0, 1.0))])
    of_graph, of_list = recorder.items
    assert of_graph.facts == ("Fact d.", "Fact a.")
    assert of_graph.graph.edges == {(ROOT, 1), (1, 0)}
    assert of_list.facts == ("Fact a.", "Fact d.", "Fact c.")  # a list tells its order, and of it two count
    assert of_list.graph.edges == {(ROOT, 0), (ROOT, 1)}
