"""How a system is run on questions: over one corpus, over each question's own passages, or as a retriever of graphs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from bgr.collection.corpus import Corpus
from bgr.collection.search import Search
from bgr.data.multihop.assemble import MultihopQuestion
from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.language_model import Asks
from bgr.llm.lockstep import together
from bgr.llm.usage import Usage
from bgr.reader.passage_reader import ReadAnswer
from bgr.retrievers.base import PassageRetriever, Query, RetrievalResult, Retriever
from eval.passages.answers import Answers
from eval.passages.found import Found


class Runner(ABC):
    """Runs one system."""

    @abstractmethod
    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """One result for each question, in order."""


class OverCorpus(Runner):
    """A retriever over one corpus, all questions at once."""

    def __init__(self, retriever: PassageRetriever, corpus: Corpus) -> None:
        self.retriever = retriever
        self.corpus = corpus

    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """See `Runner`.

        Raises:
            BgrError: the retriever has another number of results than of questions.
        """
        results = self.retriever.retrieve([one.question for one in questions])
        if len(results) != len(questions):
            raise BgrError(f"{len(results)} results for {len(questions)} questions, allowed: one for each")
        return [Found.of(question, result, self.corpus) for question, result in zip(questions, results, strict=True)]


MakeRetriever = Callable[[Sequence[int], Asks | None], tuple[PassageRetriever, Corpus]]
"""Places in the whole corpus and who is asked, to a retriever over these passages alone and their corpus."""


class OverContexts(Runner):
    """A retriever for each question, over the passages that come with it. What the questions ask a language model at
    one time is one batch.

    Args:
        make: builds the retriever of a question.
        corpus: the passages of all.
        llm: who is asked, for methods that ask.
    """

    def __init__(self, make: MakeRetriever, corpus: Corpus, llm: Asks | None) -> None:
        self.make = make
        self.corpus = corpus
        self.llm = llm

    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """See `Runner`. Seconds are those of all questions together, shared alike."""
        started = time.perf_counter()
        if self.llm is None:
            found = [self._one(question, None) for question in questions]
        else:
            found = together(self.llm, [partial(self._one, question) for question in questions])
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [replace(one, seconds=share) for one in found]

    def _one(self, question: MultihopQuestion, llm: Asks | None) -> Found:
        retriever, corpus = self.make([self.corpus.index_of[one] for one in question.context], llm)
        return OverCorpus(retriever, corpus).run([question])[0]


class ByGraph(Runner):
    """A retriever of evidence graphs, BGR for one, over each question's own passages or the best of a search.

    Passages are ranked by the best edge that leads to them, then in the order of reasoning; what is not in the
    graph is not found. The details of a result and the limits that it reached go to the trace; ``usage`` among them is
    that of the language model.

    Args:
        retriever: finds the graphs.
        corpus: the passages.
        search: finds the candidates; ``None`` takes the passages that come with a question.
        most: candidates of the search.
    """

    def __init__(self, retriever: Retriever, corpus: Corpus, search: Search | None = None, *, most: int = 20) -> None:
        self.retriever = retriever
        self.corpus = corpus
        self.search = search
        self.most = most

    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """See `Runner`. Seconds are those of all questions together, shared alike."""
        started = time.perf_counter()
        places = self._candidates(questions)
        queries = [
            Query(one.question, [self.corpus[place].whole for place in of_one], len(one.gold) + one.missing)
            for one, of_one in zip(questions, places, strict=True)
        ]
        results = self.retriever.retrieve(queries)
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [self._found(*row, share) for row in zip(questions, places, results, strict=True)]

    def _candidates(self, questions: Sequence[MultihopQuestion]) -> list[list[int]]:
        if self.search is None:
            return [[self.corpus.index_of[one] for one in question.context] for question in questions]
        hits = self.search.search([one.question for one in questions], self.most)
        return [one.indices.tolist() for one in hits]

    def _found(
        self, question: MultihopQuestion, places: Sequence[int], result: RetrievalResult, seconds: float
    ) -> Found:
        order = ranked_nodes(result.graph)
        usage = result.details.get("usage")
        record = {**result.details, **({"limits": list(result.limits)} if result.limits else {})}
        trace = ({"step": "graph", **record},) if record else ()
        return Found(
            id=question.id,
            passages=tuple(self.corpus[places[node]].id for node, _ in order),
            scores=tuple(score for _, score in order),
            usage=Usage(**usage) if usage is not None else Usage(),
            seconds=seconds,
            trace=trace,
            graph=result.graph.relabel({node: rank for rank, (node, _) in enumerate(order)}),
        )


def ranked_nodes(graph: EvidenceGraph) -> list[tuple[int, float]]:
    """The facts of a graph with the best score of an edge that leads to each, 0 where none has one; best first, equal
    ones in the order of reasoning."""
    best = {node: max(graph.scores.get((a, node), 0.0) for a in graph.predecessors(node)) for node in graph.order()}
    return sorted(best.items(), key=lambda pair: -pair[1])


class Given(Runner):
    """The gold evidence, or none at all: the bounds of what a reader makes of evidence."""

    def __init__(self, *, gold: bool) -> None:
        self.gold = gold

    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """See `Runner`."""
        return [self._one(question) for question in questions]

    def _one(self, question: MultihopQuestion) -> Found:
        passages = question.gold if self.gold else ()
        graph = question.graph if self.gold else EvidenceGraph()
        return Found(question.id, passages, tuple(1 / rank for rank in range(1, len(passages) + 1)), graph=graph)


class Answering(Runner):
    """A system whose results carry a reader's answers, in place of those it gives itself."""

    def __init__(self, runner: Runner, answers: Answers) -> None:
        self.runner = runner
        self.answers = answers

    def run(self, questions: Sequence[MultihopQuestion]) -> list[Found]:
        """See `Runner`; usage and seconds are of both."""
        found = self.runner.run(questions)
        return [_answered(*pair) for pair in zip(found, self.answers(questions, found), strict=True)]


def _answered(found: Found, answer: ReadAnswer) -> Found:
    usage, seconds = found.usage + answer.usage, found.seconds + answer.seconds
    return replace(found, answer=answer.text, usage=usage, seconds=seconds, trace=(*found.trace, answer.step))
