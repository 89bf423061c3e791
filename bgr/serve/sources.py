"""The systems, collections and examples of a server."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bgr.ask import check_checkpoint, check_collection, checkpoint_path
from bgr.collection.bm25 import Bm25Search
from bgr.collection.collection import Collection
from bgr.collection.corpus import Passage
from bgr.collection.search import Search
from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import load_split, parse_sample, read_lines
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.reader.answer import Answer
from bgr.released import checkpoint_folder, collection_folder
from bgr.retrievers.base import Query, star
from bgr.serve.options import ServeOptions, named_folders

EXAMPLES = Path(__file__).with_name("examples.jsonl")
"""Questions about Atlas that no released weights were trained on."""

SHOWN = 5
"""Texts that a search alone gives as evidence."""


class System(Protocol):
    """A way to answer.

    Args:
        description: one line for people.
        answers: whether it answers, or finds evidence alone.
        directed: whether it has graphs of two directions.
    """

    description: str
    answers: bool
    directed: bool

    def answer_all(self, queries: Sequence[Query], collection: Collection | None, pool: int | None) -> list[Answer]:
        """One answer for each query, in order. Queries without candidates find theirs in the collection."""


class GraphSystem:
    """A checkpoint: evidence graphs of both directions, merged, and its reader."""

    directed = True

    def __init__(self, pipeline: BgrPipeline, description: str) -> None:
        self.pipeline, self.description, self.answers = pipeline, description, pipeline.reader is not None

    def answer_all(self, queries: Sequence[Query], collection: Collection | None, pool: int | None) -> list[Answer]:
        return self.pipeline.answer_all(queries, collection=collection, pool=pool)


class Bm25System:
    """The texts that share most words with the question: what a search alone finds, to compare with."""

    description, answers, directed = f"the {SHOWN} texts that BM25 ranks first, without a graph", False, False

    def answer_all(self, queries: Sequence[Query], collection: Collection | None, pool: int | None) -> list[Answer]:
        return [self._answer(query, collection, pool or SHOWN) for query in queries]

    def _answer(self, query: Query, collection: Collection | None, count: int) -> Answer:
        documents: tuple[Passage, ...] = ()
        if query.candidates is None:
            assert collection is not None
            documents = tuple(collection.corpus[int(row)] for row in _ranked(collection.bm25, query.question, count))
            texts, best = tuple(one.whole for one in documents), list(range(min(SHOWN, len(documents))))
        else:
            texts = tuple(query.candidates)
            best = _ranked(Bm25Search(texts), query.question, SHOWN)
        none = EvidenceGraph()
        return Answer(query.question, texts, star(best), none, none, agreement=0.0, limits=(), documents=documents)


def _ranked(search: Search, question: str, count: int) -> list[int]:
    """The texts that share a word with the question, best first."""
    hits = search.search([question], count)[0]
    return [int(row) for row, score in zip(hits.indices, hits.scores, strict=True) if score > 0]


@dataclass(frozen=True)
class Sources:
    """All that a server has; the first system and the first collection are the defaults."""

    systems: Mapping[str, System]
    collections: Mapping[str, Collection]
    examples: Mapping[str, Example]


def open_sources(options: ServeOptions) -> Sources:
    """Load the checkpoints, open the collections, and read the examples, with notes on standard error.

    Raises:
        BgrError: one of them is missing or damaged.
    """
    folders = named_folders(options.collection)
    others = named_folders(options.system)
    for folder in others.values():  # before anything is downloaded or loaded
        check_checkpoint(folder)
    for folder in folders.values():
        check_collection(folder)
    examples = _examples(options.examples)
    checkpoints = {"bgr": checkpoint_path(options.checkpoint), **others}
    folders = folders or {"atlas": collection_folder(progress=True)}
    pipelines = {
        name: BgrPipeline.from_pretrained(
            folder, reader=options.reader if name == "bgr" else None, device=options.device, precision=options.precision
        )
        for name, folder in checkpoints.items()
    }
    collections = {
        name: Collection.open(folder, verify=options.verify, progress=True) for name, folder in folders.items()
    }
    for collection in collections.values():
        for pipeline in pipelines.values():
            pipeline.search_over(collection)
    systems: dict[str, System] = {
        name: GraphSystem(
            pipeline, _described(pipeline, checkpoints[name], options.checkpoint if name == "bgr" else None)
        )
        for name, pipeline in pipelines.items()
    }
    return Sources({**systems, "bm25": Bm25System()}, collections, examples)


def warm_up(sources: Sources) -> None:
    """Ask one question of each system and collection, so that the first client does not wait for what is loaded late.

    A failure is told, and the server serves what works.
    """
    for name, system in sources.systems.items():
        for where, collection in sources.collections.items():
            try:
                system.answer_all([Query("Who directed Persona?")], collection, None)
            except BgrError as error:
                print(f"bgr serve: warning: {name} over {where}: {error}", file=sys.stderr)


def _described(pipeline: BgrPipeline, folder: Path, given: str | None) -> str:
    # of a folder clients see the name alone; one of the Hub has the name of a commit
    name = folder.name if given is None or folder == Path(given) else given
    weights = "the released weights" if folder == checkpoint_folder() else f"the checkpoint {name}"
    reads = "a reader" if pipeline.reader is not None else "no reader, evidence alone"
    return f"graphs of both directions, merged, and {reads}: {weights}"


def _examples(folder: Path | None) -> dict[str, Example]:
    """The test questions of a dataset, or those of the package."""
    if folder is None:
        found = list(read_lines(EXAMPLES, parse_sample, unit="examples", progress=False))
    else:
        found = load_split(folder, "test", unanswerable=True, progress=True)
        if not found:
            raise DataError(f"{folder}: the test split has no questions to show as examples")
    return {example.id: example for example in found}
