"""PRISM: rounds of an agent that adds evidence and one that removes it (paper, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.retrievers.base import Query, RetrievalResult
from bgr.retrievers.llm_retriever import LlmRetriever
from bgr.retrievers.prism.evidence import Candidates, Evidence, Sentences, kept
from bgr.retrievers.prism.run import PAPER, PrismSettings, Run, rows
from bgr.retrievers.prism.steps import (
    adder_request,
    analyser_request,
    answer_request,
    draft_request,
    read_answer,
    read_evidence,
    read_keep,
    read_sub_questions,
    selector_request,
)
from bgr.retrievers.scope import Scope, by_scope


class Prism(LlmRetriever):
    """PRISM's agents. A question takes at most one call each for
    analyser, draft and answer, and one for each agent and round: 9 with the paper's settings (its Table 14 says 8).

    A failed step affects only its own part, and is counted: without an analysis the question is its only sub-question;
    a failed draft or adder adds nothing; a failed selector removes nothing. If a selector keeps nothing, the next round
    starts from nothing. A step without input is skipped: an adder without candidates, a selector or an answer without
    evidence. Names of sentences that do not exist are dropped and counted.

    The result is the union of the evidence at the end of each round. Its passages come in the order in which they were
    chosen, with scores 1, 1/2, 1/3, …: PRISM finds a set and gives no scores. The record ``merge`` of the trace has
    the evidence with its sub-questions, the number of dropped names (``hallucinated``), and the number of sentences and
    words of the candidates and of the evidence.

    A sentence is for the sub-question that a reply (of draft or adder) first states; if none states any, for the one
    that `nearest_sub_question` finds.

    Args:
        scope: the passages and the search whose first hits a question chooses from. A query with candidates of its own
            chooses from all of these, in the order of the search, or as given if the scope has no search.
        sentences: given sentences of the passages, by id or by a function; the others are split.
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

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The merged evidence of all rounds, its graph, and the answer that is read from it, if requested."""
        runs = [Run(query.question, one, [query.question]) for query, one in self._with_candidates(queries)]
        for run in runs:
            run.trace.append({"step": "candidates", "round": 0, "places": list(run.candidates.indices)})
        if self.settings.analyser:
            self._analyse(runs)
        if self.settings.start == "draft":
            self._add(runs, "draft", 0)
        elif self.settings.start == "all":
            for run in runs:
                run.add(dict.fromkeys(run.candidates.references))
        for number in range(1, self.settings.rounds + 1):
            for agent in self.settings.agents:
                if agent == "adder":
                    self._add(runs, agent, number)
                else:
                    self._select(runs, number)
            for run in runs:
                run.end_round(number)
        for run in runs:
            run.merge()
        if self.answers:
            self._answer(runs)
        return [run.result() for run in runs]

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

    def _with_candidates(self, queries: Sequence[Query]) -> list[tuple[Query, Candidates]]:
        return list(zip(queries, self.candidates(queries), strict=True))

    def _ask(self, runs: Sequence[Run], request: Callable[[Run], Request]) -> list[tuple[Run, Reply]]:
        """Each run with its reply."""
        return list(zip(runs, self.llm.ask([request(run) for run in runs]), strict=True)) if runs else []

    def _analyse(self, runs: Sequence[Run]) -> None:
        """Section 2.1."""
        for run, reply in self._ask(runs, lambda run: analyser_request(run.question, self.settings)):
            read = read_sub_questions(reply, run.question, self.settings.sub_questions)
            run.sub_questions = read.value
            run.note("analyser", read, round=0, sub_questions=read.value)

    def _add(self, runs: Sequence[Run], step: str, number: int) -> None:
        """The draft (appendix A.5) or the adder (section 2.3)."""
        make = draft_request if step == "draft" else adder_request
        asked = [run for run in runs if run.candidates.references]
        for run, reply in self._ask(asked, lambda run: make(run, self.settings)):
            read = read_evidence(reply, run.candidates, len(run.sub_questions), self.settings.references)
            new = rows(one for one in read.value.references if one not in run.evidence)
            run.add(read.value.references)
            run.note_agent(step, number, read, added=new)

    def _select(self, runs: Sequence[Run], number: int) -> None:
        """Section 2.2."""
        asked = [run for run in runs if run.evidence]
        for run, reply in self._ask(asked, lambda run: selector_request(run, self.settings)):
            read = read_keep(reply, run.candidates, run.evidence)
            before = run.evidence
            if read.failure is None:
                run.evidence = kept(before, read.value.references)
            removed = rows(one for one in before if one not in run.evidence)
            outside = rows(one for one in read.value.references if one not in before)
            run.note_agent("selector", number, read, removed=removed, not_chosen=outside)

    def _answer(self, runs: Sequence[Run]) -> None:
        """Section 2.5."""
        for run, reply in self._ask([run for run in runs if run.merged], self._answer_request):
            read = read_answer(reply)
            run.answer = read.value
            run.note("answer", read, answer=read.value)

    def _answer_request(self, run: Run) -> Request:
        evidence = run.merged
        if self.settings.whole_passages:
            chosen = dict.fromkeys(one.passage for one in evidence)
            evidence = tuple(ref for index in chosen for ref in run.candidates.references if ref.passage == index)
        return answer_request(run.question, run.candidates.reading(evidence), self.settings)


class ContextReader(Prism):
    """The answer generator on a given context: all candidates, or the gold evidence (paper, section 3.2). A question
    without a context is not asked and has no answer. Of the settings, `candidates` and `max_tokens` matter."""

    def chosen(self, query: Query, candidates: Candidates) -> Evidence:
        """The sentences to read: all of them."""
        return candidates.references

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The context of each question as its evidence, and the answer."""
        runs = []
        for query, candidates in self._with_candidates(queries):
            chosen = self.chosen(query, candidates)
            runs.append(
                Run(query.question, candidates, [query.question], purpose=dict.fromkeys(chosen, 0), rounds=[chosen])
            )
        for run in runs:
            run.merge()
        self._answer(runs)
        return [run.result() for run in runs]
