"""Loading of published multi-hop datasets, whose form is recognized by their content."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData, assemble
from bgr.data.multihop.corpora import read_corpus
from bgr.data.multihop.hotpotqa import read_hotpotqa
from bgr.data.multihop.multihop_rag import read_multihop_rag
from bgr.data.multihop.musique import read_musique
from bgr.data.multihop.records import as_record, read_records
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
