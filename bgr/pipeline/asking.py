"""From questions to queries with candidates, and from their graphs to answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bgr.collection.corpus import Passage
from bgr.collection.search import Search
from bgr.errors import DataError
from bgr.pipeline.directions import DirectedGraphs
from bgr.reader.answer import Answer
from bgr.reader.reader import ReaderAnswer, ReaderInput
from bgr.retrievers.base import Query, RetrievalResult
from bgr.retrievers.graph_hop.known_words import KnownWords, words_of
from bgr.retrievers.graph_hop.reconstruction import subgraph_confidence
from bgr.utils.progress import progress_bar

if TYPE_CHECKING:
    from bgr.collection.collection import Collection

LEAST_AGREEMENT = 0.5
"""A lower agreement is worth a warning: of 500 test questions 28 had one; 68 % of their answers were right, and 95 % of
those with full agreement."""

SEARCHED = 16
"""Number of questions that search a collection between two steps of the progress bar."""


def with_facts(questions: Sequence[str], facts: Sequence[str] | Sequence[Sequence[str]]) -> list[Query]:
    """One query for each question: all share the facts, or each has its own list.

    Raises:
        DataError: the facts are one string, sentences and lists are mixed, or there is not one list for each question.
    """
    if isinstance(facts, str):
        raise DataError("facts: is one string, allowed: a list of sentences")
    lists = [one for one in facts if isinstance(one, Sequence) and not isinstance(one, str | bytes)]
    if not lists:
        shared: Any = tuple(facts)  # what is no text among them is told later, by its place
        return [Query(question, shared) for question in questions]
    if len(lists) != len(facts):
        raise DataError("facts: some are sentences and some are lists, allowed: one kind")
    if len(lists) != len(questions):
        raise DataError(f"facts: {len(lists):,} lists for {len(questions):,} questions, allowed: one for each")
    return [Query(question, own) for question, own in zip(questions, lists, strict=True)]


def find_candidates(
    queries: Sequence[Query], search: Search, collection: Collection, pool: int, *, progress: bool
) -> list[tuple[Passage, ...] | None]:
    """The candidates of each query, best first; ``None`` where they are given."""
    found: list[tuple[Passage, ...] | None] = [None] * len(queries)
    rows = [row for row, query in enumerate(queries) if query.candidates is None]
    with progress_bar(len(rows), "search", "question", show=progress) as bar:
        for start in range(0, len(rows), SEARCHED):
            part = rows[start : start + SEARCHED]
            hits = search.search([queries[row].question for row in part], pool)
            for row, one in zip(part, hits, strict=True):
                found[row] = tuple(collection.corpus[index] for index in one.indices.tolist())
            bar.update(len(part))
    return found


def correct_spelling(
    queries: Sequence[Query], words: KnownWords, vocabulary: Container[str], collection: Collection | None
) -> tuple[list[Query], list[tuple[str, ...]]]:
    """The queries with their typing mistakes corrected, and what was changed in each (`KnownWords.corrected`). What is
    told is told by a query's candidates, or by the collection in which they are searched."""
    corrected: list[Query] = []
    notes: list[tuple[str, ...]] = []
    for query in queries:
        if query.candidates is None and collection is not None:
            told: Callable[[str], int] = collection.bm25.count_texts
        else:
            told = _counted(query.facts)
        question, changed = words.corrected(query.question, told, vocabulary)
        corrected.append(replace(query, question=question))
        notes.append(changed)
    return corrected, notes


def _counted(facts: Sequence[str]) -> Callable[[str], int]:
    """The number of facts that have a word; they are read when it is first asked for."""
    counts: Counter[str] = Counter()

    def count(word: str) -> int:
        if not counts:
            counts.update(one for fact in facts for one in set(words_of(fact)))
        return counts[word]

    return count


def make_answer(
    asked: ReaderInput,
    found: DirectedGraphs,
    merged: RetrievalResult,
    read: ReaderAnswer | None,
    *,
    warnings: tuple[str, ...],
    documents: tuple[Passage, ...] | None,
) -> Answer:
    """The answer to one question from the graphs of both directions, the merged one, and what the reader says."""
    forward, backward = found.forward.graph, found.backward.graph
    agreement = subgraph_confidence(forward, backward)
    if agreement < LEAST_AGREEMENT and merged.graph.nodes:
        warnings = (*warnings, "both directions found different evidence; check it")
    reading = read or ReaderAnswer(None, None)
    if reading.failure is not None:
        warnings = (*warnings, f"the reader gave no answer: {reading.failure}")
    return Answer(
        question=asked.question,
        facts=asked.facts,
        graph=merged.graph,
        forward=forward,
        backward=backward,
        agreement=agreement,
        limits=merged.limits,
        completeness=merged.completeness,
        has_reader=read is not None,
        text=reading.text,
        confidence=reading.confidence,
        support=reading.support,
        spans=reading.spans,
        failed=reading.failure is not None,
        truncated=found.truncated,
        reader_truncated=reading.truncated,
        warnings=warnings,
        documents=documents or (),
    )
