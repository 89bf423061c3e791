"""Graph expansion in one step: NaiveGE, without a language model, and SyncGE, in which a language model reads the base
list and the expansion starts from the facts found (paper, sections 4 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.collection.search import Hits
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever, timed
from bgr.retrievers.gear.expansion import Expanded, Expansion, MakeScores, beam_graph
from bgr.retrievers.gear.scores import MeanVectors
from bgr.retrievers.gear.steps import PAPER, Fact, GearSettings, read_facts, read_request
from bgr.retrievers.llm_retriever import LlmRetriever, step_record
from bgr.retrievers.scope import Scope, SearchName, by_scope, pairs, search_scopes

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class NaiveGe(Retriever):
    """Extends any base search by the passages that the triples of its own passages lead to (section 6.2).

    Args:
        scope: the passages, their base search and their triples.
        settings: default: the paper's.
        score: class of the scores of sequences of triples.
    """

    def __init__(self, scope: Scope, settings: GearSettings = PAPER, *, score: MakeScores = MeanVectors) -> None:
        self.scope = scope
        self.settings = settings
        self.score = score

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
        return by_scope(
            [self.scope.of(query) for query in queries],
            lambda scope, rows: self._retrieve(scope, [queries[row].question for row in rows]),
        )

    def _retrieve(self, scope: Scope, questions: Sequence[str]) -> list[RetrievalResult]:
        expansion = Expansion(scope.index, self.settings, self.score)
        base = scope.find(questions, self.settings.passages)
        starts = [expansion.triples_of(hits.indices.tolist()) for hits in base]
        expanded = expansion(questions, starts, base)
        return [
            expanded_result(scope, found, trace=(expansion.record(question, hits, found),))
            for question, hits, found in zip(questions, base, expanded, strict=True)
        ]


def expanded_result(scope: Scope, found: Expanded, trace: tuple[dict[str, Any], ...]) -> RetrievalResult:
    """The fused list of one expansion, with the graph of its beams."""
    graph = beam_graph(scope.index, found.beams)
    return RetrievalResult(graph, ranking=pairs(found.fused), searched=scope.corpus, trace=trace)


class Synced(NamedTuple):
    """The result of SyncGE for one query, the usage of its calls, and a record of each step."""

    expanded: Expanded
    usage: Usage
    trace: tuple[dict[str, Any], ...]


class SyncGe(LlmRetriever):
    """Proximal triples of the top passages are linked to their nearest triples of the index, expanded and fused.

    If the model's reading fails or finds no fact, the expansion starts from all triples of the passages, as in
    `NaiveGe`; a failure is counted in the usage.

    Args:
        llm: the language model that reads.
        scope: the passages, their base search and their triples; its search over triples serves tripleLink and GEAR's
            passageLink.
        settings: default: the paper's.
        score: class of the scores of sequences of triples.
    """

    follows_triples = True

    def __init__(
        self, llm: LanguageModel, scope: Scope, settings: GearSettings = PAPER, *, score: MakeScores = MeanVectors
    ) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.score = score

    @timed
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The fusion of the base list with the expansion's; the graph contains the passages of the beams."""
        scopes = [self.scope.of(query) for query in queries]
        found = self.expand([query.question for query in queries], scopes, self.settings.passages)
        return [
            replace(expanded_result(scope, one.expanded, one.trace), usage=one.usage)
            for scope, one in zip(scopes, found, strict=True)
        ]

    def expand(self, texts: Sequence[str], scopes: Sequence[Scope], passages: int) -> list[Synced]:
        """One step for each query's text in its scope, with base lists of `passages` passages."""
        base = search_scopes(scopes, texts, passages)
        reads = self._read(texts, scopes, base)
        links = self._link([read.value for read in reads], scopes)

        def work(scope: Scope, rows: list[int]) -> list[Synced]:
            expansion = Expansion(scope.index, self.settings, self.score)
            starts = [
                list(dict.fromkeys(links[row])) or expansion.triples_of(base[row].indices.tolist()) for row in rows
            ]
            expanded = expansion([texts[row] for row in rows], starts, [base[row] for row in rows])
            return [
                self._synced(expansion, texts[row], base[row], reads[row], links[row], found)
                for row, found in zip(rows, expanded, strict=True)
            ]

        return by_scope(scopes, work)

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
            nearest = iter(scope.nearest_triples.search(texts, 1) if texts else [])
            hits = [[next(nearest) for _ in facts[row]] for row in rows]
            return [[int(found.indices[0]) for found in some if len(found.indices)] for some in hits]

        return by_scope(scopes, work)

    def _synced(
        self, expansion: Expansion, text: str, base: Hits, read: ParsedReply, linked: list[int], found: Expanded
    ) -> Synced:
        record = step_record(
            "read",
            read,
            query=text,
            facts=[list(fact) for fact in read.value],
            linked=[expansion.triple_record(number) for number in linked],
            start="linked" if linked else "base",
        )
        return Synced(found, read.usage, (record, expansion.record(text, base, found)))
