"""MultiHop-RAG: the queries of ``MultiHopRAG.json`` over the articles of ``corpus.json``.

A passage is a whole article (the paper's baselines cut them into chunks). Evidence names its article by address and
holds one sentence of it, not the text, so that the address finds the article.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgr.data.multihop.assemble import Draft, Paragraph
from bgr.data.multihop.records import as_record, get_answers, get_list, get_text


def read_multihop_rag(
    records: Sequence[tuple[str, Any]], articles: Mapping[str, Sequence[Paragraph]]
) -> tuple[list[Draft], int]:
    """All queries, and 0 left out; null queries, which no article answers, have no gold.

    The file gives no ids: a query's is its number. The kind is ``question_type`` (inference_query, comparison_query,
    temporal_query, null_query).

    Args:
        records: of ``MultiHopRAG.json``.
        articles: those at each address.

    Raises:
        DataError: a field is missing or of another type; the message says where.
    """
    return [_draft(as_record(record, where), where, str(n), articles) for n, (where, record) in enumerate(records)], 0


def _draft(record: Mapping[str, Any], where: str, name: str, articles: Mapping[str, Sequence[Paragraph]]) -> Draft:
    found: dict[str, Paragraph | None] = {}
    for number, evidence in enumerate(get_list(record, "evidence_list", where)):
        place = f"{where}: evidence {number}"
        evidence = as_record(evidence, place)
        address, fact = get_text(evidence, "url", place), get_text(evidence, "fact", place)
        if found.get(address) is None:
            found[address] = _article(articles.get(address, ()), fact)
    context = tuple(article for article in found.values() if article is not None)
    return Draft(
        id=name,
        question=get_text(record, "query", where),
        answers=get_answers(record, where),
        kind=get_text(record, "question_type", where),
        context=context,
        gold=tuple(range(len(context))),
        missing=len(found) - len(context),
    )


def _article(articles: Sequence[Paragraph], fact: str) -> Paragraph | None:
    """The one that holds the fact, should several have one address; else the first."""
    return next((one for one in articles if fact in one.text), articles[0] if articles else None)
