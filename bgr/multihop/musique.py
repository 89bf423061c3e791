"""MuSiQue: ``musique_ans_v1.0_*.jsonl`` and ``musique_full_v1.0_*.jsonl`` of its authors, and the same records as a
JSON list, as HippoRAG publishes its samples (``musique.json``, ``musique_train.json``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgr.graph import EvidenceGraph
from bgr.multihop.assemble import Draft, Paragraph
from bgr.multihop.fields import as_record, get_answers, get_flag, get_list, get_text
from bgr.multihop.sub_questions import decomposition_graph, sub_questions


def read_musique(records: Sequence[tuple[str, Any]]) -> tuple[list[Draft], int]:
    """The answerable questions, and how many are not.

    A question marked ``"answerable": false`` (in ``musique_full``) lacks a gold paragraph and is left out. Hops are the
    steps of its decomposition; the kind is the prefix of its id (``2hop``, ``3hop1``, …). HippoRAG's other samples have
    this form too, with ``text`` for ``paragraph_text`` and no decomposition. A decomposition over the supporting
    paragraphs gives the gold graph.

    Raises:
        DataError: a field is missing or of another type; the message says where.
    """
    drafts = [_draft(as_record(record, where), where) for where, record in records]
    return [draft for draft in drafts if draft is not None], drafts.count(None)


def _draft(record: Any, where: str) -> Draft | None:
    if "answerable" in record and not get_flag(record, "answerable", where):
        return None
    name = get_text(record, "id", where)
    context, gold = [], []
    for number, paragraph in enumerate(get_list(record, "paragraphs", where)):
        place = f"{where}: paragraph {number}"
        paragraph = as_record(paragraph, place)
        field = "paragraph_text" if "paragraph_text" in paragraph or "text" not in paragraph else "text"
        context.append(Paragraph(get_text(paragraph, "title", place), get_text(paragraph, field, place)))
        if get_flag(paragraph, "is_supporting", place):
            gold.append(number)
    steps = "question_decomposition" in record
    return Draft(
        id=name,
        question=get_text(record, "question", where),
        answers=get_answers(record, where),
        kind=name.split("__")[0] if "__" in name else "",
        context=tuple(context),
        gold=tuple(gold),
        hops=len(get_list(record, "question_decomposition", where)) if steps else None,
        graph=_graph(record, where, gold),
    )


def _graph(record: Any, where: str, gold: Sequence[int]) -> EvidenceGraph | None:
    """That of the decomposition, where it is over the supporting paragraphs."""
    steps = sub_questions(record, where)
    if not steps or {step.paragraph for step in steps} != set(gold):
        return None
    return decomposition_graph(steps)
