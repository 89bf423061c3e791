"""Loading of published multi-hop datasets, whose form is recognized by their content, and MultiHop-RAG's form.

MuSiQue's form is read in `musique`, that of HotpotQA and 2WikiMultihopQA in `hotpotqa`. MultiHop-RAG has the queries of
``MultiHopRAG.json`` over the articles of ``corpus.json``. A passage is a whole article (the paper's baselines cut them
into chunks). Evidence has only one sentence of its article, which is found by its address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData, Paragraph, ParsedQuestion, assemble
from bgr.data.multihop.corpora import read_corpus
from bgr.data.multihop.hotpotqa import read_hotpotqa
from bgr.data.multihop.musique import read_musique
from bgr.data.multihop.records import as_record, get_answers, get_list, get_text, read_records
from bgr.errors import DataError
from bgr.utils.json_utils import shown

MARKS: Mapping[str, tuple[str, ...]] = {
    "musique": ("paragraphs",),
    "multihop-rag": ("query", "evidence_list"),
    "2wikimultihopqa": ("context", "evidences"),
    "hotpotqa": ("context",),
}
"""Forms, and the fields by which they are recognized in the first record; the first form that fits is taken."""


def load_multihop(path: str | Path, *, corpus: str | Path | None = None, form: str | None = None) -> MultihopData:
    """Read a file of questions, and the corpus that is searched.

    Args:
        path: the questions, in one of the published forms (`MARKS`).
        corpus: a corpus file (`bgr.data.multihop.corpora`); by default the passages of all questions are the corpus.
        form: the name of the form; ``None`` recognizes it by the content.

    Raises:
        DataError: a file is missing or damaged, the form is unknown, or MultiHop-RAG has no corpus file.
    """
    path = Path(path)
    records = read_records(path)
    form = form or _form_of(*records[0])
    if form not in MARKS:
        raise DataError(f"unknown form {shown(form)}, known: {', '.join(sorted(MARKS))}")
    file = read_corpus(corpus) if corpus is not None else None
    if form == "multihop-rag":
        if file is None:
            raise DataError(f"{path}: MultiHop-RAG's queries have no passages; give its corpus.json as corpus file")
        parsed, left_out = read_multihop_rag(records, file.articles)
    else:
        parsed, left_out = (read_musique if form == "musique" else read_hotpotqa)(records)
    if not parsed:
        raise DataError(f"{path}: has no answerable question")
    return assemble(path.stem, parsed, file.pool if file is not None else None, left_out=left_out)


def _form_of(where: str, record: Any) -> str:
    record = as_record(record, where)
    for form, fields in MARKS.items():
        if all(field in record for field in fields):
            return form
    known = "; ".join(f"{form}: {', '.join(fields)}" for form, fields in MARKS.items())
    raise DataError(f"{where}: unknown form, allowed: records with {known}")


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
