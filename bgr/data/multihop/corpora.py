"""Corpus files: HippoRAG's, and MultiHop-RAG's ``corpus.json``.

=========================================================  ======================================================
file                                                       form
=========================================================  ======================================================
HippoRAG: ``musique_corpus.json``, ``hotpotqa_corpus.json``  list of ``{"title", "text"}``
HippoRAG: ``hotpotqa_train_corpus.json``                   object, title to a list of sentences (or to a text)
MultiHop-RAG: ``corpus.json``                              list of ``{"title", "body", "url", …}``
=========================================================  ======================================================

Any list may also be written as JSON lines. Other fields are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import Paragraph, PassagePool, join_sentences
from bgr.data.multihop.records import as_record, as_text, get_text, read_records, read_text
from bgr.errors import DataError
from bgr.utils.json_utils import parse_json, shown


@dataclass(frozen=True)
class CorpusFile:
    """The distinct passages of a file, and its articles by their address, if they have one."""

    pool: PassagePool
    articles: dict[str, list[Paragraph]]


def read_corpus(path: str | Path) -> CorpusFile:
    """Read a corpus in one of the forms above.

    Raises:
        DataError: the file is missing or damaged, or an item has another form; the message names it.
    """
    path = Path(path)
    pool, articles = PassagePool(), {}  # type: PassagePool, dict[str, list[Paragraph]]
    for paragraph, address in _paragraphs(path):
        pool.add(paragraph)
        if address is not None:
            articles.setdefault(address, []).append(paragraph)
    return CorpusFile(pool, articles)


def _paragraphs(path: Path) -> Iterator[tuple[Paragraph, str | None]]:
    titles = _by_title(path)
    if titles is not None:
        yield from ((_titled(title, text, f"{path}: {shown(title)}"), None) for title, text in titles.items())
        return
    for where, record in read_records(path):
        record = as_record(record, where)
        field = "body" if "body" in record and "text" not in record else "text"
        address = get_text(record, "url", where) if "url" in record else None
        yield Paragraph(get_text(record, "title", where), get_text(record, field, where)), address


def _by_title(path: Path) -> dict[str, Any] | None:
    """The content of a file that is one object, title to passage; ``None`` for other forms, JSON lines included."""
    text = read_text(path)
    if text.lstrip()[:1] != "{":
        return None
    try:
        whole = parse_json(text, str(path), lines=True)
    except DataError:
        first = text.lstrip().split("\n", 1)[0].rstrip()
        if first.endswith("}"):  # JSON lines, whose reader reports the error
            return None
        raise
    return None if {"title", "text"} <= whole.keys() or {"title", "body"} <= whole.keys() else whole


def _titled(title: str, value: Any, where: str) -> Paragraph:
    title = as_text(title, f"{where}: title")
    if isinstance(value, list):
        sentences = tuple(as_text(sentence, f"{where}: sentence {n}") for n, sentence in enumerate(value))
        return Paragraph(title, join_sentences(sentences), sentences)
    if not isinstance(value, str):
        raise DataError(f"{where}: is {shown(value)}, allowed: a text or a list of sentences")
    return Paragraph(title, as_text(value, where))
