"""PRISM's answer generator on a context that is given: all candidates, or the gold evidence (paper, section 3.2)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.prism.agent import Prism
from bgr.retrievers.prism.candidates import Candidates, Reference, Sentences
from bgr.retrievers.prism.prism_settings import PAPER, PrismSettings
from bgr.retrievers.prism.replies import read_answer
from bgr.retrievers.prism.requests import answer_request
from bgr.retrievers.prism.run import Run
from bgr.retrievers.scope import Scope


class ContextReader(Retriever):
    """All questions go in one batch; one without a context is not asked and has no answer.

    Args:
        llm: answers.
        scope: the passages and the search, as `Prism` has them.
        settings: the number of passages and the longest reply.
        sentences: of the passages, as `Prism` has them.
    """

    def __init__(
        self, llm: LanguageModel, scope: Scope, settings: PrismSettings = PAPER, *, sentences: Sentences | None = None
    ) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.sentences = sentences

    def candidates(self, queries: Sequence[Query]) -> list[Candidates]:
        """The passages of each query."""
        return Prism(self.llm, self.scope, self.settings, sentences=self.sentences).candidates(queries)

    def chosen(self, query: Query, candidates: Candidates) -> tuple[Reference, ...]:
        """The sentences that are read: all of them."""
        return candidates.references

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The context of each question as its evidence, and the answer."""
        started = time.perf_counter()
        runs = [self._run(query, one) for query, one in zip(queries, self.candidates(queries), strict=True)]
        asked = [run for run in runs if run.merged]
        requests = [answer_request(run.question, run.candidates.reading(run.merged), self.settings) for run in asked]
        for run, reply in zip(asked, self.llm.ask(requests) if requests else [], strict=True):
            read: ParsedReply = read_answer(reply)
            run.answer = read.value
            run.note("answer", None, read, answer=read.value)
        share = (time.perf_counter() - started) / max(1, len(runs))
        return [run.result(share) for run in runs]

    def _run(self, query: Query, candidates: Candidates) -> Run:
        run = Run(query.question, candidates, [query.question])
        chosen = self.chosen(query, candidates)
        run.rounds = [chosen]
        run.purpose = dict.fromkeys(chosen, 0)
        run.merge()
        return run
