"""SyncGE: a language model reads the base list, and graph expansion starts from what it found (section 4)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bgr.collection.corpus import Corpus
from bgr.collection.search import Hits, Search
from bgr.collection.triples.index import TripleIndex
from bgr.llm.language_model import Asks, Read
from bgr.llm.usage import Usage
from bgr.retrievers.base import PassageResult, PassageRetriever
from bgr.retrievers.gear.expansion import Expanded, Expansion, beam_graph
from bgr.retrievers.gear.gear_settings import PAPER, GearSettings
from bgr.retrievers.gear.scores import SequenceScores
from bgr.retrievers.gear.steps import Fact, read_facts, read_request


class Synced(NamedTuple):
    """What SyncGE did for one query: what it found, what the calls took, a record of each step."""

    expanded: Expanded
    usage: Usage
    trace: tuple[dict[str, Any], ...]


class SyncGe(PassageRetriever):
    """Proximal triples of the top passages, each linked to its nearest triple of the index, expanded and fused.

    Where the reader fails, or finds no fact, there is nothing to link: the expansion starts from all triples of the
    passages, as `NaiveGe` does; a failure is counted in the usage.

    Args:
        llm: reads.
        corpus: the passages.
        base: searches them.
        index: triples of the same passages.
        settings: the paper's unless given.
        score: of sequences of triples; `MeanVectors` unless given.
        triples: searches the index's triples, for tripleLink and GEAR's passageLink; the index itself unless given.
    """

    def __init__(
        self,
        llm: Asks,
        corpus: Corpus,
        base: Search,
        index: TripleIndex,
        settings: GearSettings = PAPER,
        *,
        score: SequenceScores | None = None,
        triples: Search | None = None,
    ) -> None:
        self.llm = llm
        self.corpus = corpus
        self.base = base
        self.index = index
        self.settings = settings
        self.triples = triples or index
        self.expansion = Expansion(index, settings, score)

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """The base list and the expansion's, fused; the graph holds the passages of the beams."""
        started = time.perf_counter()
        found = self.expand(questions, self.settings.passages)
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [self._result(synced, share) for synced in found]

    def _result(self, synced: Synced, seconds: float) -> PassageResult:
        fused = synced.expanded.fused
        places = tuple(fused.indices.tolist())
        graph = beam_graph(self.index, synced.expanded.beams, places)
        return PassageResult(places, tuple(fused.scores.tolist()), graph, None, synced.usage, seconds, synced.trace)

    def expand(self, queries: Sequence[str], passages: int) -> list[Synced]:
        """Retrieve once for each query, with base lists of so many passages."""
        base = self.base.search(queries, passages)
        reads = self._read(queries, base)
        links = self.link([read.value for read in reads])
        starts = [
            list(dict.fromkeys(linked)) or self.expansion.triples_of(hits.indices.tolist())
            for linked, hits in zip(links, base, strict=True)
        ]
        expanded = self.expansion(queries, starts, base)
        rows = zip(queries, base, reads, links, expanded, strict=True)
        return [self._synced(*row) for row in rows]

    def _read(self, queries: Sequence[str], base: Sequence[Hits]) -> list[Read]:
        requests = [
            read_request(query, [self.corpus[place] for place in hits.indices.tolist()], self.settings)
            for query, hits in zip(queries, base, strict=True)
        ]
        return [read_facts(reply, self.settings.facts) for reply in self.llm.ask(requests)]

    def link(self, facts: Sequence[Sequence[Fact]]) -> list[list[int]]:
        """tripleLink: the nearest triple's number for each fact (equation 2)."""
        texts = [fact.text for some in facts for fact in some]
        nearest = iter(self.triples.search(texts, 1) if texts else [])
        hits = [[next(nearest) for _ in some] for some in facts]
        return [[int(found.indices[0]) for found in some if len(found.indices)] for some in hits]

    def _synced(self, query: str, base: Hits, read: Read, linked: list[int], found: Expanded) -> Synced:
        record = {
            "step": "read",
            "query": query,
            "facts": [list(fact) for fact in read.value],
            "linked": [self.expansion.triple_record(number) for number in linked],
            "start": "linked" if linked else "base",
            "failure": read.failure,
            "usage": read.usage.to_json(),
        }
        return Synced(found, read.usage, (record, self.expansion.record(query, base, found)))
