"""`BgrPipeline`: evidence graphs and answers from a checkpoint folder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import torch

from bgr.collection.collection import Collection
from bgr.collection.corpus import Passage
from bgr.collection.search import Search
from bgr.errors import CheckpointError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.checkpoint import load_tokenizer
from bgr.models.config import DIRECTIONS
from bgr.models.pool_ranker import PoolRanker
from bgr.models.retriever import BgrRetriever
from bgr.pipeline.asking import correct_spelling, find_candidates, make_answer, with_facts
from bgr.pipeline.directions import DirectedGraphs, Directions, check_pool, check_queries
from bgr.reader.answer import Answer
from bgr.reader.loading import reader_of
from bgr.reader.reader import Reader, ReaderInput
from bgr.retrievers.base import Query, RetrievalResult, Retriever, timed
from bgr.retrievers.graph_hop.checkpoint import Settings, load_ranker, load_retriever
from bgr.retrievers.graph_hop.export import Parts, exact_model, write_checkpoint
from bgr.retrievers.graph_hop.hop_search import HopSearch
from bgr.retrievers.graph_hop.hub import find_checkpoint, upload
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.options import POOL
from bgr.retrievers.llm_graph.reader import open_reader
from bgr.retrievers.scope import Scope, SearchName
from bgr.retrievers.search import CANDIDATES, TwoStage
from bgr.utils.atomic_io import output_folder
from bgr.utils.devices import pick_device
from bgr.utils.json_utils import one_line


class BgrPipeline(Directions, Retriever):
    """Both directions, the rule that merges their graphs, and the reader that answers from them.

    Args:
        forward, backward, tokenizer, device, precision: as for `Directions`.
        settings: rule and γ of each rule.
        reader: answers from the graph; ``None`` for graphs alone.
        words: those of the training questions, to correct typing mistakes and to warn of questions that are unlike
            them.
        ranker: orders the candidates that are found in a collection; default: the pruners do.

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
        ranker: PoolRanker | None = None,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        super().__init__(forward, backward, tokenizer, device=device, precision=precision)
        self.settings = settings
        self.reader = reader
        self.words = words
        self.ranker = ranker
        if ranker is not None:
            torch.nn.Module.to(ranker, self.device).eval()
        self._source: Path | None = None

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path | None = None,
        *,
        reader: str | Path | Reader | None = None,
        device: str | torch.device | None = None,
        precision: str | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: str | Path | None = None,
        local_files_only: bool = False,
    ) -> BgrPipeline:
        """Load a checkpoint. Device and precision are as for the class.

        Args:
            source: a checkpoint folder, or ``owner/name`` on the Hugging Face Hub if it is a string and no such folder
                exists; default: the released weights.
            reader: a reader in place of the checkpoint's, or what `open_reader` opens: its folder or a language model.
            revision, token, cache_dir, local_files_only: of the Hub (`bgr.retrievers.graph_hop.hub.download`).

        Raises:
            CheckpointError: a file is missing, damaged or inconsistent with the others, or a test question fails; or as
                `bgr.retrievers.graph_hop.hub.download`.
            BgrError: the reader cannot be loaded, or there is no such device.
        """
        device = pick_device(device)
        hub: dict[str, Any] = {"token": token, "cache_dir": cache_dir, "local_files_only": local_files_only}
        folder = find_checkpoint(source, revision=revision, **hub)
        settings = Settings.load(folder)
        forward, backward = (load_retriever(folder, direction) for direction in DIRECTIONS)
        words = min(model.config.encoder.vocab_size for model in (forward, backward))
        machine: dict[str, Any] = {"device": device, "precision": precision}
        if reader is None:
            reads = reader_of(folder, **machine)
        else:
            reads = open_reader(reader, **machine) if isinstance(reader, str | Path) else reader
        tokenizer = load_tokenizer(folder, words)
        parts: dict[str, Any] = {"reader": reads, "words": KnownWords.of(folder), "ranker": load_ranker(folder)}
        pipeline = cls(forward, backward, tokenizer, settings, **parts, **machine)
        pipeline._source = folder
        try:
            pipeline.retrieve([Query("?", ["."])])
        except Exception as error:  # weights may fit a configuration that cannot be run
            raise CheckpointError(f"{folder}: the model cannot be run: {one_line(error)}") from None
        return pipeline

    def save_pretrained(
        self, folder: str | Path, *, half: bool = False, without_encoder: bool = False, overwrite: bool = False
    ) -> Path:
        """Write a checkpoint folder, from which `from_pretrained` loads the same pipeline, with a model card.

        Args:
            half: store the weights in fp16, at half the size.
            without_encoder: store the name and hash of the packaged encoder in place of its weights; whoever loads the
                checkpoint needs the package (``bgr[offline]``).
            overwrite: replace the folder if it exists.

        Raises:
            DataError: the folder exists, or cannot be written.
            CheckpointError: the weights are rounded to bfloat16 and their folder is no longer there or has others
                (`bgr.retrievers.graph_hop.export.exact_model`), or the encoder cannot be named.
            BgrError: the reader is a language model, which cannot be stored.
        """
        models = {model.config.direction: exact_model(model, self._source) for model in (self.forward, self.backward)}
        parts = Parts(models, self.tokenizer, self.settings, self.reader, self.words, self.ranker)
        with output_folder(folder, overwrite=overwrite) as work:
            write_checkpoint(work, parts, half=half, without_encoder=without_encoder)
        return Path(folder)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool | None = None,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str = "Upload a BGR checkpoint",
        half: bool = False,
        without_encoder: bool = False,
    ) -> str:
        """Upload what `save_pretrained` writes to the Hugging Face Hub, and return the address of the commit.

        Args:
            repo_id: ``owner/name``; the repository is created if there is none.
            private: only for a new repository; default: the owner's.
            revision: branch, created if there is none; default: ``main``.

        Raises:
            BgrError: as `save_pretrained` and `bgr.retrievers.graph_hop.hub.upload`.
        """
        with tempfile.TemporaryDirectory() as work:
            folder = self.save_pretrained(Path(work) / "checkpoint", half=half, without_encoder=without_encoder)
            return upload(
                folder, repo_id, private=private, token=token, revision=revision, commit_message=commit_message
            )

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
        return HopSearch(collection.bm25, index, [self.forward], self.tokenizer, ranker=self.ranker)

    @property
    def _pool(self) -> int:
        return CANDIDATES if self.forward.pruner is None else POOL

    @overload
    def answer(self, question: str, facts: Sequence[str] | Collection, *, pool: int | None = None) -> Answer: ...

    @overload
    def answer(
        self,
        question: list[str] | tuple[str, ...],
        facts: Sequence[str] | Sequence[Sequence[str]] | Collection,
        *,
        pool: int | None = None,
    ) -> list[Answer]: ...

    def answer(
        self,
        question: str | list[str] | tuple[str, ...],
        facts: Sequence[str] | Sequence[Sequence[str]] | Collection,
        *,
        pool: int | None = None,
    ) -> Answer | list[Answer]:
        """Retrieve the evidence graph of a question, and answer the question from it.

        Args:
            question: the question, or a list of them, which are read together and give a list of answers.
            facts: the candidates of all questions, or a list of them for each question, or a collection, in which they
                are found (`search_over`); `Answer.documents` says which texts they are.
            pool: number of candidates from a collection; default as for `over`.

        Raises:
            DataError: there is no question, no fact, more facts than `MAX_FACTS`, or another number of lists than of
                questions; or as `search_over`.
        """
        questions = [question] if isinstance(question, str) else list(question)
        if isinstance(facts, Sequence):
            found = self.answer_all(with_facts(questions, facts))
        elif isinstance(facts, Collection):
            found = self.answer_all([Query(one) for one in questions], collection=facts, pool=pool)
        else:
            raise DataError(
                f"facts are a {type(facts).__name__}; allowed: a list of texts, a list of them for each question, or a "
                "collection"
            )
        return found[0] if isinstance(question, str) else found

    __call__ = answer

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
        question is not answerable. Typing mistakes are corrected before, which `Answer.warnings` tells.
        """
        check_queries(queries)
        check_pool(pool)
        asked, notes = queries, [tuple[str, ...]()] * len(queries)
        if self.words is not None:
            queries, notes = correct_spelling(queries, self.words, self._vocabulary, collection)
        documents: list[tuple[Passage, ...] | None] = [None] * len(queries)
        first = 0
        if collection is not None and any(query.candidates is None for query in queries):
            search = self.search_over(collection)
            first = search.read_first
            documents = find_candidates(queries, search, collection, pool or self._pool, progress=progress)
        queries = [
            query if texts is None else replace(query, candidates=[one.whole for one in texts], read_first=first)
            for query, texts in zip(queries, documents, strict=True)
        ]
        found = [DirectedGraphs(DirectionResult(EvidenceGraph()), DirectionResult(EvidenceGraph()))] * len(queries)
        some = [row for row, texts in enumerate(documents) if texts is None or texts]
        retrieved = self.retrieve_directions([queries[row] for row in some], progress=progress)
        for row, graphs in zip(some, retrieved, strict=True):
            found[row] = graphs
        answers = self._read_answers(queries, found, documents, progress=progress)
        return [
            replace(answer, question=query.question, warnings=(*note, *answer.warnings))
            for query, note, answer in zip(asked, notes, answers, strict=True)
        ]

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self.tokenizer.get_vocab())

    def _read_answers(
        self,
        queries: Sequence[Query],
        found: Sequence[DirectedGraphs],
        documents: Sequence[tuple[Passage, ...] | None],
        *,
        progress: bool,
    ) -> list[Answer]:
        merged = [self._merged(graphs) for graphs in found]
        asked = [
            ReaderInput(query.question, tuple(query.facts), result.graph, result.completeness)
            for query, result in zip(queries, merged, strict=True)
        ]
        read = [None] * len(asked) if self.reader is None else self.reader.answer(asked, progress=progress)
        strange = [() if self.words is None else self.words.warnings(one.question, one.facts) for one in asked]
        return [
            make_answer(*each, warnings=warnings, documents=texts)
            for *each, warnings, texts in zip(asked, found, merged, read, strange, documents, strict=True)
        ]

    def _merged(self, found: DirectedGraphs) -> RetrievalResult:
        settings = self.settings
        return found.merged(
            settings.rule, settings.gamma(settings.rule), fusion=settings.fusion, refusal=settings.refusal
        )
