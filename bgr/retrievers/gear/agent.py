"""GEAR: rounds of SyncGE with a memory of facts, until the question can be answered (paper, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bgr.collection.search import Hits, rrf
from bgr.collection.triples.index import TripleIndex
from bgr.retrievers.base import Query, RetrievalResult
from bgr.retrievers.gear.expansion import linked_graph, triple_record
from bgr.retrievers.gear.steps import (
    Fact,
    GearSettings,
    Reason,
    gist_request,
    read_facts,
    read_query,
    read_reason,
    reason_request,
    rewrite_request,
)
from bgr.retrievers.gear.sync import SyncGe
from bgr.retrievers.llm_retriever import LlmRun
from bgr.retrievers.scope import Scope, by_scope, pairs


class Link(NamedTuple):
    """The nearest triple of a fact (``None`` in an empty index) and the passages that it leads to, best first."""

    triple: int | None
    passages: list[int]


def passage_links(facts: Sequence[Fact], scope: Scope, settings: GearSettings) -> list[Link]:
    """passageLink (equations 8 and 10): for each fact the best passages, by reciprocal rank over its search of
    passages and that of triples. A passage's rank by triples is that of its best triple, among passages."""
    max_passages = settings.round_passages
    if not facts:
        return []
    texts = [fact.text for fact in facts]
    near_triples = scope.triples_by(settings.link).search(texts, max_passages)
    found = zip(scope.find(texts, max_passages), near_triples, strict=True)
    return [_link(passages, near, scope.index, max_passages, settings.rrf_k) for passages, near in found]


def _link(passages: Hits, near: Hits, index: TripleIndex, max_passages: int, rrf_k: int) -> Link:
    through = dict.fromkeys(np.asarray(index.passages)[near.indices].tolist())
    fused = rrf([passages.indices.tolist(), list(through)], k=rrf_k)
    return Link(int(near.indices[0]) if len(near.indices) else None, fused.indices[:max_passages].tolist())


@dataclass
class _Run(LlmRun):
    """The state of one question; `facts` is the gist memory: each once, in the order in which they were read."""

    question: str
    scope: Scope
    query: str
    facts: dict[Fact, None] = field(default_factory=dict)
    lists: list[list[int]] = field(default_factory=list)
    reason: Reason = field(default_factory=Reason)
    done: bool = False


class Gear(SyncGe):
    """Repeats SyncGE with a memory of facts.

    A failed step affects only its own part, and is counted: a failed gist adds no facts, a failed reason leaves the
    question open, a failed rewrite ends its rounds, as the old query would find the old passages. The memory contains
    each fact once, so that a model that repeats itself does not outvote the rest of the list.
    """

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The fusion of the lists of the memory's facts and of all rounds (equation 9); the answer if there is one."""
        runs = [_Run(query.question, self.scope.of(query), query.question) for query in queries]
        for number in range(1, self.settings.rounds + 1):
            open_runs = [run for run in runs if not run.done]
            if open_runs:
                self._expand(open_runs, number)
                self._remember(open_runs, number)
                self._reason(open_runs, number)
            if number < self.settings.rounds:
                self._rewrite([run for run in open_runs if not run.done], number)
        return [self._result(run, links) for run, links in zip(runs, self._links(runs), strict=True)]

    def _expand(self, runs: list[_Run], number: int) -> None:
        texts, scopes = [run.query for run in runs], [run.scope for run in runs]
        found = self.expand(texts, scopes, self.settings.round_passages)
        for run, result in zip(runs, found, strict=True):
            run.lists.append(list(result.indices))
            run.usage += result.usage
            run.trace += [{"round": number, **record} for record in result.trace]

    def _remember(self, runs: list[_Run], number: int) -> None:
        """Equations 4 and 5."""
        requests = []
        for run in runs:
            passages = [run.scope.corpus[index] for index in run.lists[-1][: self.settings.gist_passages]]
            requests.append(gist_request(run.question, passages, list(run.facts), self.settings))
        for run, reply in zip(runs, self.llm.ask(requests), strict=True):
            read = read_facts(reply, self.settings.facts)
            run.note("gist", read, round=number, facts=[list(fact) for fact in read.value])
            run.facts.update(dict.fromkeys(read.value))

    def _reason(self, runs: list[_Run], number: int) -> None:
        """Equation 6."""
        requests = [reason_request(run.question, list(run.facts), self.settings) for run in runs]
        for run, reply in zip(runs, self.llm.ask(requests), strict=True):
            read = read_reason(reply)
            run.reason = read.value
            run.done = run.reason.answerable
            run.note("reason", read, round=number, **vars(run.reason))

    def _rewrite(self, runs: list[_Run], number: int) -> None:
        """Equation 7."""
        if not runs:
            return
        requests = [rewrite_request(run.question, list(run.facts), run.reason.why, self.settings) for run in runs]
        for run, reply in zip(runs, self.llm.ask(requests), strict=True):
            read = read_query(reply)
            run.query = read.value
            run.done = not run.query
            run.note("rewrite", read, round=number, query=run.query)

    def _links(self, runs: Sequence[_Run]) -> list[list[Link]]:
        """Equation 8, for all facts of all questions."""
        settings = self.settings

        def work(scope: Scope, rows: list[int]) -> list[list[Link]]:
            facts = [fact for row in rows for fact in runs[row].facts]
            links = iter(passage_links(facts, scope, settings))
            return [[next(links) for _ in runs[row].facts] for row in rows]

        return by_scope([run.scope for run in runs], work)

    def _result(self, run: _Run, links: Sequence[Link]) -> RetrievalResult:
        fused = rrf([*(link.passages for link in links), *run.lists], k=self.settings.rrf_k)
        records = [_link_record(run.scope.index, *pair) for pair in zip(run.facts, links, strict=True)]
        run.trace.append({"step": "link", "facts": records})
        linked = [link.triple for link in links if link.triple is not None]
        answer = run.reason.answer if run.reason.answerable else ""
        return RetrievalResult(
            linked_graph(run.scope.index, linked, set(fused.indices.tolist())),
            ranking=pairs(fused),
            searched=run.scope.corpus,
            usage=run.usage,
            trace=tuple(run.trace),
            answer=answer or None,
        )


def _link_record(index: TripleIndex, fact: Fact, link: Link) -> dict[str, Any]:
    triple = None if link.triple is None else triple_record(index, link.triple)
    return {"fact": list(fact), "triple": triple, "passages": link.passages}
