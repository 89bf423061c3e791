"""PRISM's answer generator on a context that is given: all candidates, or the gold evidence (paper, section 3.2)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from bgr.collection.corpus import Corpus
from bgr.collection.search import Search
from bgr.llm.language_model import Asks, Read
from bgr.retrievers.base import PassageResult, PassageRetriever
from bgr.retrievers.prism.candidates import Candidates, Reference, Sentences
from bgr.retrievers.prism.prism_settings import PAPER, PrismSettings
from bgr.retrievers.prism.replies import read_answer
from bgr.retrievers.prism.requests import answer_request
from bgr.retrievers.prism.run import Run


class ContextReader(PassageRetriever):
    """All questions in one batch; one without a context is not asked and has no answer.

    Args:
        llm: answers.
        corpus: the passages.
        passages: gives each question its passages: a base search, or a `GivenSearch`.
        settings: the number of passages and the longest reply.
        sentences: of the passages, as `Prism` has them.
        only: by the question's text, the sentences that are read; all of the passages where it does not say.
    """

    def __init__(
        self,
        llm: Asks,
        corpus: Corpus,
        passages: Search,
        settings: PrismSettings = PAPER,
        *,
        sentences: Sentences | None = None,
        only: Mapping[str, Sequence[Reference]] | None = None,
    ) -> None:
        self.llm = llm
        self.corpus = corpus
        self.passages = passages
        self.settings = settings
        self.sentences = sentences
        self.only = only or {}

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """The context of each question as its evidence, and the answer."""
        started = time.perf_counter()
        hits = self.passages.search(questions, self.settings.candidates) if questions else []
        runs = [self._run(*pair) for pair in zip(questions, [hit.indices.tolist() for hit in hits], strict=True)]
        asked = [run for run in runs if run.merged]
        requests = [answer_request(run.question, run.candidates.reading(run.merged), self.settings) for run in asked]
        for run, reply in zip(asked, self.llm.ask(requests) if requests else [], strict=True):
            read: Read = read_answer(reply)
            run.answer = read.value
            run.note("answer", None, read, answer=read.value)
        share = (time.perf_counter() - started) / max(1, len(runs))
        return [run.result(share) for run in runs]

    def _run(self, question: str, places: Sequence[int]) -> Run:
        run = Run(question, Candidates(self.corpus, places, self.sentences), [question])
        chosen = run.candidates.references
        if question in self.only:
            wanted = set(self.only[question])
            chosen = tuple(one for one in chosen if one in wanted)
        run.rounds = [chosen]
        run.purpose = dict.fromkeys(chosen, 0)
        run.merge()
        return run
