"""PRISM: rounds of an agent that adds evidence and one that removes it (paper, section 2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bgr.llm.backends.loading import language_model
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.prism.candidates import Candidates, Sentences
from bgr.retrievers.prism.evidence import kept
from bgr.retrievers.prism.prism_settings import PAPER, PrismSettings
from bgr.retrievers.prism.replies import read_answer, read_evidence, read_keep, read_sub_questions
from bgr.retrievers.prism.requests import (
    adder_request,
    analyser_request,
    answer_request,
    draft_request,
    selector_request,
)
from bgr.retrievers.prism.run import Run
from bgr.retrievers.scope import Scope, SearchName, by_scope

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class Prism(Retriever):
    """All questions go through a step together, as one batch of requests. A question makes at most one call each for
    analyser, draft and answer, and one for each agent and round: 9 with the paper's settings (its Table 14 says 8).

    A step that fails affects its own part only, and is counted: without an analysis the question is its only
    sub-question; a failed draft or adder adds nothing; a failed selector removes nothing. A selector that keeps nothing
    is obeyed: the next round starts from nothing. Who has nothing to work on is not asked: an adder without candidates,
    a selector or an answer without evidence. What is named and does not exist is dropped and counted.

    The result is the union of the evidence at the end of each round. Its passages come in the order in which they were
    chosen, with scores 1, 1/2, 1/3, …: PRISM finds a set and gives no scores. The record ``merge`` of the trace has
    the evidence with its sub-questions, the number of dropped names (``hallucinated``), and how many sentences and
    words the candidates and the evidence have.

    A sentence is for the sub-question that a reply (of draft or adder) first says; where none says any, for the one
    that `nearest_sub_question` finds.

    Args:
        llm: plays all agents.
        scope: the passages and the search whose first hits a question chooses from. A query with candidates of its own
            chooses from all of these, in the order of the search, or as given where the scope has no search.
        settings: the paper's unless given.
        sentences: of the passages, by id or by a function; those that it does not have are split here.
        answers: whether to answer, which takes a call.
    """

    def __init__(
        self,
        llm: LanguageModel,
        scope: Scope,
        settings: PrismSettings = PAPER,
        *,
        sentences: Sentences | None = None,
        answers: bool = True,
    ) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.sentences = sentences
        self.answers = answers

    @classmethod
    def over(
        cls,
        collection: Collection,
        *,
        llm: LanguageModel | str,
        search: SearchName = "hybrid",
        settings: PrismSettings = PAPER,
        answers: bool = True,
    ) -> Prism:
        """Retrieve from a collection; `llm` is a language model or its name (`load_backend`)."""
        return cls(language_model(llm), Scope.over(collection, search), settings, answers=answers)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The merged evidence of all rounds, its graph, and the answer that is read from it, if one is wanted."""
        started = time.perf_counter()
        runs = [self._run(query.question, one) for query, one in zip(queries, self.candidates(queries), strict=True)]
        if self.settings.analyser:
            self._analyse(runs)
        self._start(runs)
        for number in range(1, self.settings.rounds + 1):
            for agent in self.settings.agents:
                (self._add if agent == "adder" else self._select)(runs, number)
            for run in runs:
                run.end_round(number)
        for run in runs:
            run.merge()
        if self.answers:
            self._answer(runs)
        share = (time.perf_counter() - started) / max(1, len(runs))
        return [run.result(share) for run in runs]

    def candidates(self, queries: Sequence[Query]) -> list[Candidates]:
        """The passages that each query chooses from."""

        def work(scope: Scope, rows: list[int]) -> list[Candidates]:
            whole = scope is self.scope
            if scope.search is None and not whole:
                found = [list(range(len(scope.corpus))) for _ in rows]
            else:
                k = self.settings.candidates if whole else max(1, len(scope.corpus))
                hits = scope.find([queries[row].question for row in rows], k)
                found = [one.indices.tolist() for one in hits]
            return [Candidates(scope.corpus, indices, self.sentences) for indices in found]

        return by_scope([self.scope.of(query) for query in queries], work)

    def _run(self, question: str, candidates: Candidates) -> Run:
        run = Run(question, candidates, [question])
        run.trace.append({"step": "candidates", "round": 0, "places": list(candidates.indices)})
        return run

    def _ask(self, runs: Sequence[Run], request: Callable[[Run], Request]) -> list[Any]:
        """Each run with its reply."""
        return list(zip(runs, self.llm.ask([request(run) for run in runs]), strict=True)) if runs else []

    def _analyse(self, runs: Sequence[Run]) -> None:
        """Section 2.1."""
        for run, reply in self._ask(runs, lambda run: analyser_request(run.question, self.settings)):
            read = read_sub_questions(reply, run.question, self.settings.sub_questions)
            run.sub_questions = read.value
            run.note("analyser", 0, read, sub_questions=read.value)

    def _start(self, runs: Sequence[Run]) -> None:
        """The evidence before the first round."""
        if self.settings.start == "all":
            for run in runs:
                run.add(dict.fromkeys(run.candidates.references))
        if self.settings.start != "draft":
            return
        asked = [run for run in runs if run.candidates.references]
        for run, reply in self._ask(asked, self._draft_request):
            self._take(run, "draft", 0, reply)

    def _add(self, runs: Sequence[Run], number: int) -> None:
        """Section 2.3."""
        asked = [run for run in runs if run.candidates.references]
        for run, reply in self._ask(asked, self._adder_request):
            self._take(run, "adder", number, reply)

    def _take(self, run: Run, step: str, number: int, reply: Any) -> None:
        read = read_evidence(reply, run.candidates, len(run.sub_questions), self.settings.references)
        new = [[*one] for one in read.value.references if one not in run.evidence]
        run.add(read.value.references)
        run.note_agent(step, number, read, added=new)

    def _select(self, runs: Sequence[Run], number: int) -> None:
        """Section 2.2."""
        asked = [run for run in runs if run.evidence]
        for run, reply in self._ask(asked, self._selector_request):
            read = read_keep(reply, run.candidates, run.evidence)
            before = run.evidence
            if read.failure is None:
                run.evidence = kept(before, read.value.references)
            removed = [[*one] for one in before if one not in run.evidence]
            outside = [[*one] for one in read.value.references if one not in before]
            run.note_agent("selector", number, read, removed=removed, not_chosen=outside)

    def _answer(self, runs: Sequence[Run]) -> None:
        """Section 2.5."""
        for run, reply in self._ask([run for run in runs if run.merged], self._answer_request):
            read = read_answer(reply)
            run.answer = read.value
            run.note("answer", None, read, answer=read.value)

    def _draft_request(self, run: Run) -> Request:
        return draft_request(run.question, run.sub_questions, run.candidates, self.settings)

    def _adder_request(self, run: Run) -> Request:
        return adder_request(run.question, run.sub_questions, run.candidates, run.evidence, self.settings)

    def _selector_request(self, run: Run) -> Request:
        return selector_request(run.question, run.sub_questions, run.candidates, run.evidence, self.settings)

    def _answer_request(self, run: Run) -> Request:
        evidence = run.merged
        if self.settings.whole_passages:
            chosen = dict.fromkeys(one.passage for one in evidence)
            evidence = tuple(ref for index in chosen for ref in run.candidates.references if ref.passage == index)
        return answer_request(run.question, run.candidates.reading(evidence), self.settings)
