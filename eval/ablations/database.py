"""`bgr ablate database`: questions over a whole database, with the candidates that several searches propose.

Every system gets the same number of candidates. The graph can be no better than the pool, so the recall of the pool
stands beside its scores. They are fair to other words of the same statements (`eval.run.pooled`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm import tqdm

from bgr.ask import check_collection
from bgr.collection.collection import Collection
from bgr.collection.search import Hits, Search
from bgr.data.example import Example
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE, dataset_hash, load_split, recipe_of
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.answers import answer_match
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.pipeline import BgrPipeline
from bgr.reader.reader import Reader, ReaderInput
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.baselines.single_hop import StarRetriever
from bgr.retrievers.gear.steps import PAPER
from bgr.retrievers.gear.sync import NaiveGe
from bgr.utils.atomic_io import output_folder, write_json, write_text
from bgr.utils.json_utils import repr_short
from eval.ablations.candidates import MAIN, load_others
from eval.ablations.database_report import FIRST, RANKS, DatabaseRow, DatabaseScore, DatabaseStudy
from eval.ablations.options import AblateDatabaseOptions
from eval.run.pooled import Pooled, pooled

GROUP = 64
"""Questions at a time."""

NAIVE = "hybrid+naive"
"""NaiveGE over the triples of the collection, as `bgr compare` names it."""


def ablate_database(options: AblateDatabaseOptions) -> DatabaseStudy:
    """Run all systems over the collection, and write the report.

    Raises:
        BgrError: the checkpoint, the collection or the data are damaged or do not fit together, a system is unknown, or
            the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        examples = load_split(options.data, options.split)[: options.limit]
        if not examples:
            raise DataError(f"{options.data}: the split {options.split!r} is empty")
        check_collection(options.collection)
        collection = Collection.open(options.collection, progress=True)
        texts = [one.whole for one in collection.corpus]
        home = options.database or options.data
        table = FactTable.read(home, progress=True)
        if strange := next((text for text in texts if not table.units_of(text)), None):
            raise DataError(f"{options.collection}: not a sentence of {home}/{FACTS_FILE}: {repr_short(strange)}")
        pipeline = BgrPipeline.from_pretrained(
            options.checkpoint, reader=options.reader, device=options.device, precision=options.precision
        )
        searches: dict[str, Search] = {
            name: _search(name, collection, pipeline, options.pool) for name in options.searches
        }
        last = options.searches[-1]
        systems: list[tuple[str, str, Retriever]] = []
        for name in options.searches:
            systems += [(FIRST, name, FirstFacts()), (MAIN, name, pipeline)]
        systems += [(name, last, one) for name, one in load_others(options).items()]
        reader = pipeline.reader
        rows = measure(searches, systems, texts, examples, table, pool=options.pool, reader=reader, progress=True)
        about = {
            "checkpoint": str(options.checkpoint),
            "reader": "none" if reader is None else options.reader or "the checkpoint's",
            "collection": str(options.collection),
            "sentences": len(texts),
            "database": str(home),
            "data": str(options.data),
            "recipe": recipe_of(options.data),
            "data_hash": dataset_hash(options.data),
            "split": options.split,
            "questions": len(examples),
            "pool": options.pool,
            "seed": options.seed,
        }
        found = DatabaseStudy(rows, about)
        write_json(folder / "database.json", found.to_json())
        write_text(folder / "database.md", found.document().as_markdown())
    return found


def _search(name: str, collection: Collection, pipeline: BgrPipeline, pool: int) -> Search:
    if name == "hops":
        return pipeline.search_over(collection)
    if name == NAIVE:
        # its list is that of a base search with what the triples add, so that of 200 passages is no shorter
        settings = replace(PAPER, passages=pool)
        return Ranking(NaiveGe.over(collection, settings=settings), len(collection.corpus))
    found: Search = getattr(collection, name)
    return found


class Ranking(Search):
    """The ranking of a retriever over the `size` texts of its collection, as a search."""

    def __init__(self, retriever: Retriever, size: int) -> None:
        self.retriever = retriever
        self.size = size

    def __len__(self) -> int:
        return self.size

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        found = self.retriever.retrieve([Query(query) for query in queries])
        return [
            Hits(np.array(one.indices[:k], dtype=np.int64), np.array(one.scores[:k], dtype=np.float32)) for one in found
        ]


class FirstFacts(StarRetriever):
    """The first candidates, in the order of the search that proposed them."""

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        return dict.fromkeys(range(k))


def measure(
    searches: Mapping[str, Search],
    systems: Sequence[tuple[str, str, Retriever]],
    texts: Sequence[str],
    examples: Sequence[Example],
    table: FactTable,
    *,
    pool: int,
    reader: Reader | None = None,
    progress: bool = False,
) -> tuple[DatabaseRow, ...]:
    """Run each system, given as name, name of its search and retriever, over the pools of its search.

    Raises:
        DataError: a gold fact is not among the sentences of the table.
    """
    pools: dict[str, list[tuple[Pooled, float]]] = {}
    for name in dict.fromkeys(search for _, search, _ in systems):
        pools[name] = _pools(searches[name], name, texts, examples, table, pool, progress)
    return tuple(
        DatabaseRow(name, search, tuple(_scores(name, retriever, pools[search], reader, progress)))
        for name, search, retriever in systems
    )


def _pools(
    search: Search,
    name: str,
    texts: Sequence[str],
    examples: Sequence[Example],
    table: FactTable,
    pool: int,
    progress: bool,
) -> list[tuple[Pooled, float]]:
    """The pool of each question, with the seconds that the search took."""
    found: list[tuple[Pooled, float]] = []
    with tqdm(total=len(examples), desc=f"search {name}", unit="question", disable=not progress) as bar:
        for start in range(0, len(examples), GROUP):
            group = examples[start : start + GROUP]
            began = time.perf_counter()
            hits = search.search([one.question for one in group], pool)
            share = (time.perf_counter() - began) / len(group)
            for example, one in zip(group, hits, strict=True):
                own = [texts[index] for index in one.indices.tolist()]
                found.append((pooled(example, own, table, read_first=search.read_first), share))
            bar.update(len(group))
    return found


def _scores(
    name: str, retriever: Retriever, pools: Sequence[tuple[Pooled, float]], reader: Reader | None, progress: bool
) -> list[DatabaseScore]:
    found = []
    with tqdm(total=len(pools), desc=name, unit="question", disable=not progress) as bar:
        for start in range(0, len(pools), GROUP):
            group = pools[start : start + GROUP]
            began = time.perf_counter()
            results = _retrieved(retriever, [one.query for one, _ in group])
            answers: Sequence[Any] = [None] * len(group)
            if reader is not None:
                answers = reader.answer(
                    [
                        ReaderInput(one.example.question, one.example.facts, result.graph, result.completeness)
                        for (one, _), result in zip(group, results, strict=True)
                    ]
                )
            share = (time.perf_counter() - began) / len(group)
            for (one, seconds), result, answer in zip(group, results, answers, strict=True):
                graph, gold = one.judged(result).graph, one.example.graph
                found.append(
                    DatabaseScore(
                        id=one.example.id,
                        hops=gold.hops,
                        structure=gold.structure,
                        pool=one.pool,
                        recall=one.found,
                        recall_at=tuple(one.found_in(k) for k in RANKS),
                        gm=graph_match(graph, gold),
                        gs=graph_structure_match(graph, gold),
                        f1=evidence_set(graph, gold).f1,
                        exact=None if answer is None else answer_match(answer.text, one.example.answer),
                        searched_ms=1000 * seconds,
                        read_ms=1000 * share,
                    )
                )
            bar.update(len(group))
    return found


def _retrieved(retriever: Retriever, queries: Sequence[Query]) -> list[RetrievalResult]:
    """The result of each query; nothing is found where the search proposed no candidate."""
    found = iter(retriever.retrieve([query for query in queries if query.facts]))
    return [next(found) if query.facts else RetrievalResult(EvidenceGraph()) for query in queries]
