"""MultiHop-RAG: the queries of ``MultiHopRAG.json`` over the articles of ``corpus.json``.

A passage is a whole article (the paper's baselines cut them into chunks). Evidence has only one sentence of its
article, which is found by its address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgr.data.multihop.assemble import Paragraph, ParsedQuestion
from bgr.data.multihop.records import as_record, get_answers, get_list, get_text


def read_multihop_rag(
    records: Sequence[tuple[str, Any]], articles: Mapping[str, Sequence[Paragraph]]
) -> tuple[list[ParsedQuestion], int]:
    """All queries, and 0, the number of those left out; null queries, which no article answers, have no gold.

    The file has no ids: a query's number is its id. The kind is ``question_type`` (inference_query, comparison_query,
    temporal_query, null_query).

    Args:
        records: records of ``MultiHopRAG.json``.
        articles: the articles at each address.

    Raises:
        DataError: a field is missing or has another type; the message names the location.
    """
    return [_parsed(as_record(record, where), where, str(n), articles) for n, (where, record) in enumerate(records)], 0


def _parsed(
    record: Mapping[str, Any], where: str, name: str, articles: Mapping[str, Sequence[Paragraph]]
) -> ParsedQuestion:
    found: dict[str, Paragraph | None] = {}
    for number, evidence in enumerate(get_list(record, "evidence_list", where)):
        inside = f"{where}: evidence {number}"
        evidence = as_record(evidence, inside)
        address, fact = get_text(evidence, "url", inside), get_text(evidence, "fact", inside)
        if found.get(address) is None:
            found[address] = _article(articles.get(address, ()), fact)
    context = tuple(article for article in found.values() if article is not None)
    return ParsedQuestion(
        id=name,
        question=get_text(record, "query", where),
        answers=get_answers(record, where),
        kind=get_text(record, "question_type", where),
        context=context,
        gold=tuple(range(len(context))),
        missing=len(found) - len(context),
    )


def _article(articles: Sequence[Paragraph], fact: str) -> Paragraph | None:
    """The first article that has the fact, if several share an address; else the first."""
    return next((article for article in articles if fact in article.text), articles[0] if articles else None)
