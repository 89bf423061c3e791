"""`BgrPipeline`: evidence graphs and answers from a checkpoint folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from bgr.collection.corpus import Passage
from bgr.collection.search import Search
from bgr.errors import CheckpointError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.batching import Sentences, make_batch
from bgr.models.checkpoint import load_tokenizer
from bgr.models.config import DIRECTIONS
from bgr.models.retriever import BgrRetriever
from bgr.models.state_cache import cache_encoded
from bgr.reader.answer import Answer
from bgr.reader.loading import reader_of
from bgr.reader.reader import Reader, ReaderAnswer, ReaderInput
from bgr.retrievers.base import Query, RetrievalResult, Retriever, timed, truncated_texts
from bgr.retrievers.graph_hop.checkpoint import Settings, load_retriever
from bgr.retrievers.graph_hop.completeness import Refusal
from bgr.retrievers.graph_hop.decode import EXPLORE, decode
from bgr.retrievers.graph_hop.fusion import Fusion
from bgr.retrievers.graph_hop.hop_search import HopSearch
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.options import MAX_FACTS, POOL
from bgr.retrievers.graph_hop.prune import kept_columns, unpruned
from bgr.retrievers.graph_hop.reconstruction import reconstruct, subgraph_confidence
from bgr.retrievers.llm_graph.reader import open_reader
from bgr.retrievers.scope import Scope, SearchName
from bgr.retrievers.search import CANDIDATES, TwoStage
from bgr.utils.devices import autocast, hold_in, pick_device, pick_precision
from bgr.utils.json_utils import one_line, text_problem
from bgr.utils.progress import progress_bar

if TYPE_CHECKING:
    from bgr.collection.collection import Collection

GROUP = 128
"""Number of questions whose sentences are encoded and kept in memory together."""

SEARCHED = 16
"""Number of questions that search a collection between two steps of the progress bar."""


@dataclass(frozen=True)
class DirectedGraphs:
    """The graphs of both directions for one question, before reconstruction, the texts that one of the directions
    truncated (`RetrievalResult.truncated`), and the candidates that one of them read, ``None`` for all."""

    forward: DirectionResult
    backward: DirectionResult
    truncated: tuple[int, ...] = ()
    kept: tuple[int, ...] | None = None

    def merged(
        self, rule: str, gamma: float, *, fusion: Fusion | None = None, refusal: Refusal | None = None
    ) -> RetrievalResult:
        """The graph by a reconstruction rule (`bgr.retrievers.graph_hop.reconstruction.reconstruct`); empty if the
        evidence is refused."""
        found = reconstruct(self.forward, self.backward, rule, gamma, fusion=fusion)
        refusal = refusal or Refusal()
        completeness = refusal.completeness(self.forward, self.backward, found.graph)
        if completeness is not None and completeness < refusal.threshold:
            found = replace(found, graph=EvidenceGraph())
        details = {} if self.kept is None else {"kept": list(self.kept)}
        return replace(found, details=details, truncated=self.truncated, completeness=completeness)


class BgrPipeline(Retriever):
    """Both directions, their tokenizer and their settings.

    Args:
        forward, backward: the two retrievers; in bfloat16 they cannot be trained further (`bgr.utils.devices.hold_in`).
        tokenizer: the encoder's tokenizer.
        settings: rule and γ of each rule.
        reader: answers from the graph; ``None`` for graphs alone.
        words: those of the training questions, to warn of questions that are unlike them.
        device: device of the models; default: the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        ValueError: an unknown precision.
    """

    def __init__(
        self,
        forward: BgrRetriever,
        backward: BgrRetriever,
        tokenizer: Any,
        settings: Settings,
        *,
        reader: Reader | None = None,
        words: KnownWords | None = None,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.precision = pick_precision(self.device, precision)
        self.forward, self.backward = forward, backward
        for model in (forward, backward):
            torch.nn.Module.to(model, self.device).eval()
        self.shared = read_alike(forward, backward)
        if self.shared:
            backward.encoder.share_frozen(forward.encoder)
        for model in (forward, backward):
            hold_in(model, self.precision, but=model.pruner)
        self.tokenizer = tokenizer
        self.settings = settings
        self.reader = reader
        self.words = words
        self.kept: tuple[Sentences, Sentences] | None = None

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        *,
        reader: str | Path | None = None,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> BgrPipeline:
        """Load a checkpoint folder, without network access. Device and precision are as for the class.

        Args:
            reader: a reader in place of the checkpoint's: its folder, or a language model (`open_reader`).

        Raises:
            CheckpointError: a file is missing, damaged or inconsistent with the others, or a test question fails.
            BgrError: the reader cannot be loaded, or there is no such device.
        """
        folder, device = Path(folder), pick_device(device)
        settings = Settings.load(folder)
        forward, backward = (load_retriever(folder, direction) for direction in DIRECTIONS)
        words = min(model.config.encoder.vocab_size for model in (forward, backward))
        machine: dict[str, Any] = {"device": device, "precision": precision}
        reads = reader_of(folder, **machine) if reader is None else open_reader(reader, **machine)
        tokenizer = load_tokenizer(folder, words)
        pipeline = cls(forward, backward, tokenizer, settings, reader=reads, words=KnownWords.of(folder), **machine)
        try:
            pipeline.retrieve([Query("?", ["."])])
        except Exception as error:  # weights may fit a configuration that cannot be run
            raise CheckpointError(f"{folder}: the model cannot be run: {one_line(error)}") from None
        return pipeline

    def keep_facts(self, facts: Iterable[str], folder: str | Path, *, progress: bool = False) -> None:
        """Encode a fixed collection of facts once for all later questions; other facts are still allowed.

        Args:
            facts: the sentences.
            folder: cache of their states in half precision (``2 · width`` bytes per token and direction), which later
                processes use too; states are read from it when needed.
            progress: show progress bars on standard error.
        """
        texts = list(dict.fromkeys(facts))
        forward, backward = (
            Sentences(texts, self.tokenizer, max_tokens=model.config.fact_tokens)
            for model in (self.forward, self.backward)
        )
        for sentences, model in ((forward, self.forward), (backward, self.backward)):
            with autocast(self.device, self.precision):
                cache_encoded(sentences, model, Path(folder), progress=progress)
        self.kept = (forward, backward)

    def retrieve_directions(
        self, queries: Sequence[Query], *, batch_size: int = 16, progress: bool = False
    ) -> list[DirectedGraphs]:
        """Run both directions without merging them, since the caller may want several rules.

        Raises:
            DataError: a query has no fact, more than `MAX_FACTS`, no question, or a text that is too long or not valid
                UTF-8.
        """
        _check(queries)
        found: list[DirectedGraphs] = []
        starts = range(0, len(queries), GROUP)
        for start in tqdm(starts, desc="retrieval", disable=not progress, unit="group", delay=2):
            group = queries[start : start + GROUP]
            with autocast(self.device, self.precision):
                forward, backward = self._read(group)
                results = [
                    _walk(model, read, group, batch_size)
                    for model, read in ((self.forward, forward), (self.backward, backward))
                ]
            cut = [
                one.truncated | other.truncated
                for one, other in ((forward.questions, backward.questions), (forward.facts, backward.facts))
            ]
            lost = (truncated_texts(query, *cut) for query in group)
            kept = map(_union, forward.kept, backward.kept)
            found += [DirectedGraphs(*each) for each in zip(*results, lost, kept, strict=True)]
        return found

    def _read(self, queries: Sequence[Query]) -> list[_Read]:
        """Questions and facts after the frozen layers, for each direction; computed once if these are the same. Facts
        come from the cache of `keep_facts` if it contains all of them; of others only those are read that one of the
        directions keeps."""
        kept = self.kept
        if kept is not None and not all(fact in kept[0].number for query in queries for fact in query.facts):
            kept = None
        models, read = (self.forward, self.backward), list[_Read]()
        for number, model in enumerate(models):
            if number and self.shared:
                questions, facts = read[0].questions, read[0].facts
            else:
                questions = Sentences(
                    (q.question for q in queries), self.tokenizer, max_tokens=model.config.question_tokens
                )
                texts = [f for q in queries for f in q.facts] if kept is None else []
                facts = Sentences(texts, self.tokenizer, max_tokens=model.config.fact_tokens)
            facts = facts if kept is None else kept[number]
            read.append(_Read(questions, facts, _kept_facts(model, questions, facts, queries)))
        needed = {text for one in read for q, chosen in zip(queries, one.kept, strict=True) for text in _of(q, chosen)}
        for model, one in zip(models, read, strict=True):
            for sentences, wanted in ((one.questions, None), (one.facts, needed)):
                if sentences.states is None:  # else they are kept, or those of the other direction
                    sentences.lower(model.encoder, wanted)
        return read

    @timed
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The merged graph of each query, by the checkpoint's rule and its γ."""
        found = zip(queries, self.retrieve_directions(queries), strict=True)
        return [replace(self._merged(graphs), searched=query.facts) for query, graphs in found]

    def over(self, collection: Collection, *, search: SearchName | None = None, count: int | None = None) -> TwoStage:
        """A retriever over a collection.

        Args:
            collection: the texts, to which the indices of results refer.
            search: how candidates are found; default: as `search_over` says.
            count: number of candidates of a query; default: `POOL` if they are found hop by hop, else `CANDIDATES`.
        """
        if search is not None:
            return TwoStage.over(collection, self, search=search, count=count or CANDIDATES)
        return TwoStage(self, Scope(collection.corpus, self.search_over(collection)), count or self._pool)

    def search_over(self, collection: Collection) -> Search:
        """The search by which questions find their candidates in a collection.

        Hop by hop (`HopSearch`) if the checkpoint has a pruner, else by words and vectors. Names and token ids of the
        texts are prepared when they are first needed (`Collection.hop_index`).

        Raises:
            DataError: what the search needs is damaged or cannot be written; or there is no pruner, and the collection
                has no vectors, or those of another encoder.
        """
        if self.forward.pruner is None:
            return collection.hybrid
        index = collection.hop_index(self.tokenizer, max_tokens=self.forward.config.fact_tokens)
        # the backward pruner finds the same evidence, and takes the same time again
        return HopSearch(collection.bm25, index, [self.forward], self.tokenizer)

    @property
    def _pool(self) -> int:
        return CANDIDATES if self.forward.pruner is None else POOL

    def answer(self, question: str, facts: Sequence[str] | Collection, *, pool: int | None = None) -> Answer:
        """Retrieve the evidence graph of one question, and answer the question from it.

        Args:
            question: the question.
            facts: its candidates, or a collection, in which they are found (`search_over`); `Answer.documents` says
                which texts they are.
            pool: number of candidates from a collection; default as for `over`.

        Raises:
            DataError: there is no question, no fact, or more facts than `MAX_FACTS`; or as `search_over`.
        """
        if isinstance(facts, Sequence):
            return self.answer_all([Query(question, facts)])[0]
        return self.answer_all([Query(question)], collection=facts, pool=pool)[0]

    def answer_all(
        self,
        queries: Sequence[Query],
        *,
        collection: Collection | None = None,
        pool: int | None = None,
        progress: bool = False,
    ) -> list[Answer]:
        """One answer for each question, in order; see `answer`.

        Queries without candidates find theirs in the collection. Where nothing is found, the graph is empty, and the
        question is not answerable.
        """
        documents = self._search(queries, collection, pool, progress=progress)
        queries = [
            query if texts is None else replace(query, candidates=[one.whole for one in texts])
            for query, texts in zip(queries, documents, strict=True)
        ]
        found = [DirectedGraphs(DirectionResult(EvidenceGraph()), DirectionResult(EvidenceGraph()))] * len(queries)
        some = [row for row, texts in enumerate(documents) if texts is None or texts]
        retrieved = self.retrieve_directions([queries[row] for row in some], progress=progress)
        for row, graphs in zip(some, retrieved, strict=True):
            found[row] = graphs
        merged = [self._merged(graphs) for graphs in found]
        asked = [
            ReaderInput(query.question, tuple(query.facts), result.graph, result.completeness)
            for query, result in zip(queries, merged, strict=True)
        ]
        read = [None] * len(asked) if self.reader is None else self.reader.answer(asked, progress=progress)
        strange = [() if self.words is None else self.words.warnings(one.question, one.facts) for one in asked]
        answers = [_answer(*each) for each in zip(asked, found, merged, read, strange, strict=True)]
        return [replace(answer, documents=texts or ()) for answer, texts in zip(answers, documents, strict=True)]

    def _search(
        self, queries: Sequence[Query], collection: Collection | None, pool: int | None, *, progress: bool
    ) -> list[tuple[Passage, ...] | None]:
        """The candidates of each query, best first; ``None`` where they are given."""
        _check_questions(queries)
        if pool is not None and not 1 <= pool <= MAX_FACTS:
            raise DataError(f"a pool of {pool:,} candidates, allowed: 1 to {MAX_FACTS:,}")
        found: list[tuple[Passage, ...] | None] = [None] * len(queries)
        rows = [row for row, query in enumerate(queries) if query.candidates is None]
        if collection is None or not rows:
            return found
        search = self.search_over(collection)
        with progress_bar(len(rows), "search", "question", show=progress) as bar:
            for start in range(0, len(rows), SEARCHED):
                part = rows[start : start + SEARCHED]
                hits = search.search([queries[row].question for row in part], pool or self._pool)
                for row, one in zip(part, hits, strict=True):
                    found[row] = tuple(collection.corpus[index] for index in one.indices.tolist())
                bar.update(len(part))
        return found

    def _merged(self, found: DirectedGraphs) -> RetrievalResult:
        settings = self.settings
        return found.merged(
            settings.rule, settings.gamma(settings.rule), fusion=settings.fusion, refusal=settings.refusal
        )


def _answer(
    asked: ReaderInput,
    found: DirectedGraphs,
    merged: RetrievalResult,
    read: ReaderAnswer | None,
    warnings: tuple[str, ...],
) -> Answer:
    forward, backward = found.forward.graph, found.backward.graph
    reading = read or ReaderAnswer(None, None)
    return Answer(
        question=asked.question,
        facts=asked.facts,
        graph=merged.graph,
        forward=forward,
        backward=backward,
        agreement=subgraph_confidence(forward, backward),
        limits=merged.limits,
        completeness=merged.completeness,
        has_reader=read is not None,
        text=reading.text,
        confidence=reading.confidence,
        support=reading.support,
        spans=reading.spans,
        truncated=found.truncated,
        reader_truncated=reading.truncated,
        warnings=warnings,
    )


def _check_questions(queries: Sequence[Query]) -> None:
    for number, query in enumerate(queries):
        if not query.question.strip():
            raise DataError(f"query {number}: the question is empty")


def _check(queries: Sequence[Query]) -> None:
    _check_questions(queries)
    for number, query in enumerate(queries):
        if not query.facts:
            raise DataError(f"query {number}: there are no facts")
        if len(query.facts) > MAX_FACTS:
            raise DataError(f"query {number}: {len(query.facts)} facts, allowed: {MAX_FACTS}")
        if found := text_problem(query.question):
            raise DataError(f"query {number}: the question {found}")
        for place, fact in enumerate(query.facts):
            if found := text_problem(fact):
                raise DataError(f"query {number}: fact {place} {found}")


def read_alike(forward: BgrRetriever, backward: BgrRetriever) -> bool:
    """True if both directions share the encoding of sentences, including frozen layers if there are any."""
    one, two = forward.config, backward.config
    limits = [(c.frozen_layers, c.question_tokens, c.fact_tokens) for c in (one, two)]
    if limits[0] != limits[1] or one.encoder.to_dict() != two.encoder.to_dict():
        return False
    pairs = zip(forward.encoder.frozen_parameters(), backward.encoder.frozen_parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@dataclass(frozen=True)
class _Read:
    """Input of one direction for a group of queries: their sentences, and the candidates of each query that the pruner
    keeps, ``None`` for all."""

    questions: Sentences
    facts: Sentences
    kept: list[list[int] | None]


def _union(one: list[int] | None, two: list[int] | None) -> tuple[int, ...] | None:
    return None if one is None or two is None else tuple(sorted({*one, *two}))


def _of(query: Query, chosen: list[int] | None) -> Sequence[str]:
    return query.facts if chosen is None else [query.facts[number] for number in chosen]


def _kept_facts(
    model: BgrRetriever, questions: Sentences, facts: Sentences, queries: Sequence[Query]
) -> list[list[int] | None]:
    """One question at a time: those with many candidates are few, and each is a large batch of its own."""
    chosen: list[list[int] | None] = []
    for query in queries:
        if not model.config.prune or len(query.facts) <= model.config.prune:
            chosen.append(None)
            continue
        batch = make_batch(questions, facts, [(query.question, query.facts)], states=False).to(model.device)
        columns = kept_columns(model, batch)
        assert columns is not None
        chosen.append([column for column in columns[0].tolist() if column >= 0])
    return chosen


@torch.inference_mode()
def _walk(model: BgrRetriever, read: _Read, queries: Sequence[Query], batch_size: int) -> list[DirectionResult]:
    """One direction over all queries. A sentence that questions share is encoded only once."""
    results: list[DirectionResult] = []
    for start in range(0, len(queries), batch_size):
        part = range(start, min(start + batch_size, len(queries)))
        samples = [(queries[n].question, _of(queries[n], read.kept[n])) for n in part]
        batch = make_batch(read.questions, read.facts, samples).to(model.device)
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        found = decode(model, encoded, explore=EXPLORE)
        for number, one in zip(part, found, strict=True):
            kept = read.kept[number]
            results.append(one if kept is None else unpruned(one, kept, len(queries[number].facts)))
    return results
