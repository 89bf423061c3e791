"""MuSiQue: ``musique_ans_v1.0_*.jsonl`` and ``musique_full_v1.0_*.jsonl`` of its authors, and the same records as a
JSON list, as HippoRAG publishes its samples (``musique.json``, ``musique_train.json``).

MuSiQue's question decompositions as evidence graphs over paragraphs (Trivedi et al., 2022: section 3).

A sub-question is answered by one paragraph, and names the answer of an earlier one as ``#1``: an edge from that one's
paragraph to its own. A sub-question that names none hangs from the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bgr.data.multihop.assemble import Draft, Paragraph
from bgr.data.multihop.records import as_record, get_answers, get_flag, get_list, get_text
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.utils.json_utils import shown

_REFERENCE = re.compile(r"#(\d{1,4})(?!\d)")


class SubQuestion(NamedTuple):
    """A step of a decomposition, and the place of the paragraph that answers it."""

    question: str
    paragraph: int


def sub_questions(record: Mapping[str, Any], where: str) -> list[SubQuestion] | None:
    """The decomposition of a record, its paragraphs as places in the record's list; ``None`` where there is none, or a
    step has no text or no paragraph.

    Raises:
        DataError: a field is of another type, or names no paragraph of the record; the message says where.
    """
    if "question_decomposition" not in record:
        return None
    places = _places(record, where)
    steps = []
    for number, step in enumerate(get_list(record, "question_decomposition", where)):
        inside = f"{where}: question_decomposition, number {number}"
        support = as_record(step, inside).get("paragraph_support_idx")
        if support is None or "question" not in step:
            return None
        if type(support) is not int or support not in places:
            raise DataError(f"{inside}: paragraph_support_idx is {shown(support)}, allowed: the idx of a paragraph")
        steps.append(SubQuestion(get_text(step, "question", inside), places[support]))
    return steps


def decomposition_graph(steps: Sequence[SubQuestion]) -> EvidenceGraph:
    """The graph over the paragraphs of a decomposition.

    Sub-questions on one paragraph are one node. A reference within a paragraph is no edge, nor is one that leads back
    to a paragraph met earlier; so there is no cycle, and since every paragraph has an edge from the question or an
    earlier one when it is first met, each hangs from the question.
    """
    met: dict[int, int] = {}
    edges: set[Edge] = set()
    for number, step in enumerate(steps):
        own = met.setdefault(step.paragraph, number)
        sources = [steps[n].paragraph for n in references(step.question, number)]
        edges |= {(source, step.paragraph) for source in sources if met[source] < own}
        if not sources:
            edges.add((ROOT, step.paragraph))
    return EvidenceGraph(edges)


def references(question: str, earlier: int) -> list[int]:
    """Places, from 0, of the earlier sub-questions that one names; ``#3`` where there are but two is plain text."""
    return [n - 1 for n in dict.fromkeys(map(int, _REFERENCE.findall(question))) if 1 <= n <= earlier]


def _places(record: Mapping[str, Any], where: str) -> dict[int, int]:
    """Where the paragraph with each ``idx`` stands; without that field its place is its number."""
    places: dict[int, int] = {}
    for number, paragraph in enumerate(get_list(record, "paragraphs", where)):
        index = as_record(paragraph, f"{where}: paragraph {number}").get("idx", number)
        if type(index) is not int or index in places:
            raise DataError(
                f"{where}: paragraph {number}: idx is {shown(index)}, allowed: an integer that no other has"
            )
        places[index] = number
    return places


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
