"""Checks of queries before any work."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.errors import DataError
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.options import MAX_FACTS
from bgr.utils.json_utils import text_problem


def check_queries(queries: Sequence[Query]) -> None:
    """Check questions, and candidates where they are given.

    Raises:
        DataError: a query has no fact, more than `MAX_FACTS`, no question, or a text that is too long or not valid
            UTF-8.
    """
    for number, query in enumerate(queries):
        if not query.question.strip():
            raise DataError(f"query {number}: the question is empty")
    for number, query in enumerate(queries):
        if found := text_problem(query.question):
            raise DataError(f"query {number}: the question {found}")
        if query.candidates is None:
            continue
        if not query.candidates:
            raise DataError(f"query {number}: there are no facts")
        if len(query.candidates) > MAX_FACTS:
            raise DataError(f"query {number}: {len(query.candidates)} facts, allowed: {MAX_FACTS}")
        for place, fact in enumerate(query.candidates):
            if found := text_problem(fact):
                raise DataError(f"query {number}: fact {place} {found}")


def check_pool(pool: int | None) -> None:
    """Check the number of candidates from a collection; DataError otherwise."""
    if pool is not None and not 1 <= pool <= MAX_FACTS:
        raise DataError(f"a pool of {pool:,} candidates, allowed: 1 to {MAX_FACTS:,}")
