"""Rerankers: a language model orders the first passages of a search (RankGPT), or selects a set of them (SetR)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bgr.llm.language_model import LanguageModel
from bgr.retrievers.base import Query, RetrievalResult, star
from bgr.retrievers.llm_retriever import LlmRetriever, LlmRun
from bgr.retrievers.rerank.steps import PAPER, RerankSettings, order_request, read_order
from bgr.retrievers.scope import Scope, search_scopes


@dataclass
class _Run(LlmRun):
    """The state of one question: the indices of its passages in their present order; `selected` are the result."""

    question: str
    scope: Scope
    order: list[int]
    selected: int


class Rerank(LlmRetriever):
    """Orders the first passages of the base search by windows from the end of the list, so that the best ones move up
    (Sun et al., 2023, section 3.2), or selects some of them in one call. Passages that a reply does not name keep their
    order after those that it names; a failed step, which is counted, leaves its window as it is.

    The whole list is ranked, with scores 1, 1/2, 1/3, …; the graph is a star over the first `top`, or over those that
    were selected.
    """

    def __init__(self, llm: LanguageModel, scope: Scope, settings: RerankSettings = PAPER) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order."""
        scopes = [self.scope.of(query) for query in queries]
        found = search_scopes(scopes, [query.question for query in queries], self.settings.passages)
        top = self.settings.top
        runs = [_Run(q.question, s, h.indices.tolist(), top) for q, s, h in zip(queries, scopes, found, strict=True)]
        windows = [self._windows(len(run.order)) for run in runs]
        for number in range(max(map(len, windows), default=0)):
            asked = [(run, mine[number]) for run, mine in zip(runs, windows, strict=True) if number < len(mine)]
            self._order(asked)
        return [_result(run) for run in runs]

    def _windows(self, count: int) -> list[slice]:
        """The parts of a list that are ordered, one after the other."""
        settings = self.settings
        if not count:
            return []
        if settings.form == "set" or count <= settings.window:
            return [slice(0, count)]
        starts = [*range(count - settings.window, 0, -settings.stride), 0]
        return [slice(start, start + settings.window) for start in starts]

    def _order(self, asked: Sequence[tuple[_Run, slice]]) -> None:
        requests = [
            order_request(run.question, [run.scope.corpus[index] for index in run.order[part]], self.settings)
            for run, part in asked
        ]
        for (run, part), reply in zip(asked, self.llm.ask(requests), strict=True):
            before = run.order[part]
            read = read_order(reply, len(before))
            named = [before[position] for position in read.value]
            run.order[part] = [*named, *(index for index in before if index not in named)]
            if self.settings.form == "set" and named:
                run.selected = len(named)
            run.note(self.settings.form, read, window=before, named=named, fused=list(run.order))


def _result(run: _Run) -> RetrievalResult:
    return RetrievalResult(
        star(run.order[: run.selected]),
        ranking=tuple((index, 1 / rank) for rank, index in enumerate(run.order, 1)),
        searched=run.scope.corpus,
        usage=run.usage,
        trace=tuple(run.trace),
        is_list=True,
    )
