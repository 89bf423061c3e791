"""Graph expansion in one step: NaiveGE, without a language model, and SyncGE, in which a language model reads the base
list and the expansion starts from the facts found (paper, sections 4 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bgr.collection.search import Hits
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.retrievers.base import Query, RetrievalResult, Retriever, timed
from bgr.retrievers.gear.expansion import expand_graph, triple_record
from bgr.retrievers.gear.steps import PAPER, Fact, GearSettings, read_facts, read_request
from bgr.retrievers.llm_retriever import LlmRetriever, step_record
from bgr.retrievers.scope import Scope, SearchName, by_scope, search_scopes

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class NaiveGe(Retriever):
    """Extends any base search by the passages that the triples of its own passages lead to (section 6.2)."""

    def __init__(self, scope: Scope, settings: GearSettings = PAPER) -> None:
        self.scope = scope
        self.settings = settings

    @classmethod
    def over(cls, collection: Collection, *, search: SearchName = "hybrid", **options: Any) -> NaiveGe:
        """Retrieve from a collection that has triples; `options` are further arguments of the class.

        Example::

            [result] = NaiveGe.over(collection).retrieve([Query("Which …?")])
        """
        return cls(Scope.over(collection, search, triples=True), **options)

    @timed
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The fusion of the base list with the expansion's; the graph contains the passages of the beams."""

        def work(scope: Scope, rows: list[int]) -> list[RetrievalResult]:
            questions = [queries[row].question for row in rows]
            base = scope.find(questions, self.settings.passages)
            return expand_graph(scope, questions, [()] * len(rows), base, self.settings)

        return by_scope([self.scope.of(query) for query in queries], work)


class SyncGe(LlmRetriever):
    """Proximal triples of the top passages are linked to their nearest triples of the index, expanded and fused.

    If the model's reading fails or finds no fact, the expansion starts from all triples of the passages, as in
    `NaiveGe`; a failure is counted in the usage.

    `GearSettings.link` names the search over triples for tripleLink and GEAR's passageLink.
    """

    follows_triples = True

    def __init__(self, llm: LanguageModel, scope: Scope, settings: GearSettings = PAPER) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The fusion of the base list with the expansion's; the graph contains the passages of the beams."""
        scopes = [self.scope.of(query) for query in queries]
        return self.expand([query.question for query in queries], scopes, self.settings.passages)

    def expand(self, texts: Sequence[str], scopes: Sequence[Scope], passages: int) -> list[RetrievalResult]:
        """One step for each query's text in its scope, with base lists of `passages` passages."""
        base = search_scopes(scopes, texts, passages)
        reads = self._read(texts, scopes, base)
        links = self._link([read.value for read in reads], scopes)

        def work(scope: Scope, rows: list[int]) -> list[RetrievalResult]:
            parts = ([texts[row] for row in rows], [links[row] for row in rows], [base[row] for row in rows])
            return expand_graph(scope, *parts, self.settings)

        found = zip(by_scope(scopes, work), texts, scopes, reads, links, strict=True)
        return [
            replace(result, usage=read.usage, trace=(_read_record(text, scope, read, linked), *result.trace))
            for result, text, scope, read, linked in found
        ]

    def _read(self, texts: Sequence[str], scopes: Sequence[Scope], base: Sequence[Hits]) -> list[ParsedReply]:
        requests = [
            read_request(text, [scope.corpus[index] for index in hits.indices.tolist()], self.settings)
            for text, scope, hits in zip(texts, scopes, base, strict=True)
        ]
        return [read_facts(reply, self.settings.facts) for reply in self.llm.ask(requests)]

    def _link(self, facts: Sequence[Sequence[Fact]], scopes: Sequence[Scope]) -> list[list[int]]:
        """tripleLink: the number of the nearest triple for each fact (equation 2)."""

        def work(scope: Scope, rows: list[int]) -> list[list[int]]:
            texts = [fact.text for row in rows for fact in facts[row]]
            nearest = iter(scope.triples_by(self.settings.link).search(texts, 1) if texts else [])
            hits = [[next(nearest) for _ in facts[row]] for row in rows]
            return [[int(found.indices[0]) for found in some if len(found.indices)] for some in hits]

        return by_scope(scopes, work)


def _read_record(text: str, scope: Scope, read: ParsedReply, linked: list[int]) -> dict[str, Any]:
    return step_record(
        "read",
        read,
        query=text,
        facts=[list(fact) for fact in read.value],
        linked=[triple_record(scope.index, number) for number in linked],
        start="linked" if linked else "base",
    )
