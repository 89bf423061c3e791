"""SyncGE: a language model reads the base list, and graph expansion starts from what it found (section 4)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.collection.search import Hits
from bgr.llm.backends.loading import language_model
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.gear.expansion import Expanded, Expansion, MakeScores
from bgr.retrievers.gear.gear_settings import PAPER, GearSettings
from bgr.retrievers.gear.naive import expanded_result
from bgr.retrievers.gear.scores import MeanVectors
from bgr.retrievers.gear.steps import Fact, read_facts, read_request
from bgr.retrievers.scope import Scope, SearchName, by_scope, search_scopes

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class Synced(NamedTuple):
    """The result of SyncGE for one query, the usage of its calls, and a record of each step."""

    expanded: Expanded
    usage: Usage
    trace: tuple[dict[str, Any], ...]


class SyncGe(Retriever):
    """Proximal triples of the top passages, each linked to its nearest triple of the index, expanded and fused.

    Where the model's reading fails or finds no fact, there is nothing to link: the expansion starts from all triples of
    the passages, as `NaiveGe` does; a failure is counted in the usage.

    Args:
        llm: reads.
        scope: the passages, their base search and their triples; its search over triples serves tripleLink and GEAR's
            passageLink.
        settings: the paper's unless given.
        score: makes the scores of sequences of triples.
    """

    def __init__(
        self, llm: LanguageModel, scope: Scope, settings: GearSettings = PAPER, *, score: MakeScores = MeanVectors
    ) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.score = score

    @classmethod
    def over(
        cls,
        collection: Collection,
        *,
        llm: LanguageModel | str,
        search: SearchName = "hybrid",
        settings: GearSettings = PAPER,
        score: MakeScores = MeanVectors,
    ) -> SyncGe:
        """Retrieve from a collection that has triples; `llm` is a language model or its name (`load_backend`)."""
        scope = Scope.over(collection, search, triples=True)
        return cls(language_model(llm), scope, settings, score=score)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The base list and the expansion's, fused; the graph holds the passages of the beams."""
        started = time.perf_counter()
        scopes = [self.scope.of(query) for query in queries]
        found = self.expand([query.question for query in queries], scopes, self.settings.passages)
        share = (time.perf_counter() - started) / max(1, len(queries))
        return [
            replace(expanded_result(scope, one.expanded, one.trace), usage=one.usage, seconds=share)
            for scope, one in zip(scopes, found, strict=True)
        ]

    def expand(self, texts: Sequence[str], scopes: Sequence[Scope], passages: int) -> list[Synced]:
        """Retrieve once for each query's text in its scope, with base lists of so many passages."""
        base = search_scopes(scopes, texts, passages)
        reads = self._read(texts, scopes, base)
        links = self.link([read.value for read in reads], scopes)

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

    def link(self, facts: Sequence[Sequence[Fact]], scopes: Sequence[Scope]) -> list[list[int]]:
        """tripleLink: the nearest triple's number for each fact (equation 2)."""

        def work(scope: Scope, rows: list[int]) -> list[list[int]]:
            texts = [fact.text for row in rows for fact in facts[row]]
            nearest = iter(scope.nearest_triples.search(texts, 1) if texts else [])
            hits = [[next(nearest) for _ in facts[row]] for row in rows]
            return [[int(found.indices[0]) for found in some if len(found.indices)] for some in hits]

        return by_scope(scopes, work)

    def _synced(
        self, expansion: Expansion, text: str, base: Hits, read: ParsedReply, linked: list[int], found: Expanded
    ) -> Synced:
        record = {
            "step": "read",
            "query": text,
            "facts": [list(fact) for fact in read.value],
            "linked": [expansion.triple_record(number) for number in linked],
            "start": "linked" if linked else "base",
            "failure": read.failure,
            "usage": read.usage.to_json(),
        }
        return Synced(found, read.usage, (record, expansion.record(text, base, found)))
