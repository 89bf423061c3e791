"""MuSiQue: ``musique_ans_v1.0_*.jsonl`` and ``musique_full_v1.0_*.jsonl`` of its authors, and the same records as a
JSON list, as HippoRAG publishes its samples (``musique.json``, ``musique_train.json``).

Question decompositions become evidence graphs over paragraphs (Trivedi et al., 2022: section 3). A sub-question is
answered by one paragraph and refers to the answer of an earlier one as ``#1``, which gives an edge from the paragraph
of the earlier one to its own. A sub-question without references has an edge from the question. `read_musique` gives
questions over a corpus, `read_decompositions` samples that BGR can be trained on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bgr.collection.corpus import Passage
from bgr.data.example import Example
from bgr.data.multihop.assemble import Paragraph, ParsedQuestion
from bgr.data.records import as_record, get_answers, get_flag, get_list, get_text
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.utils.json_utils import repr_short

_REFERENCE = re.compile(r"#(\d{1,4})(?!\d)")

NOT_ANSWERABLE = "marked as not answerable"
NO_PARAGRAPH = "a sub-question has no text or no paragraph"
OTHER_PARAGRAPHS = "the supporting paragraphs are not those of the sub-questions"
NO_TEXT = "question or answer is empty"


class SubQuestion(NamedTuple):
    """A step of a decomposition, with the index of the paragraph that answers it."""

    question: str
    paragraph: int


def sub_questions(record: Mapping[str, Any], where: str) -> list[SubQuestion] | None:
    """The decomposition of a record, with paragraphs as indices into the record's list; ``None`` if there is none, or a
    step has no text or no paragraph.

    Raises:
        DataError: a field has another type or refers to a missing paragraph; the message names the location.
    """
    if "question_decomposition" not in record:
        return None
    indices: dict[int, int] = {}  # the position of the paragraph with each ``idx``; by default the two are equal
    for number, paragraph in enumerate(get_list(record, "paragraphs", where)):
        index = as_record(paragraph, f"{where}: paragraph {number}").get("idx", number)
        if type(index) is not int or index in indices:
            raise DataError(f"{where}: paragraph {number}: idx is {repr_short(index)}, allowed: a unique integer")
        indices[index] = number
    steps = []
    for number, step in enumerate(get_list(record, "question_decomposition", where)):
        inside = f"{where}: question_decomposition, number {number}"
        support = as_record(step, inside).get("paragraph_support_idx")
        if support is None or "question" not in step:
            return None
        if type(support) is not int or support not in indices:
            raise DataError(
                f"{inside}: paragraph_support_idx is {repr_short(support)}, allowed: the idx of a paragraph"
            )
        steps.append(SubQuestion(get_text(step, "question", inside), indices[support]))
    return steps


def decomposition_graph(steps: Sequence[SubQuestion]) -> EvidenceGraph:
    """The evidence graph over the paragraphs of a decomposition.

    Sub-questions on one paragraph are one node. References within a paragraph, and those back to an earlier paragraph,
    give no edge, so that there is no cycle. The first sub-question on a paragraph gives it an edge from the question or
    an earlier paragraph, so that each is reachable from the question.
    """
    first: dict[int, int] = {}
    edges: set[Edge] = set()
    for number, step in enumerate(steps):
        own = first.setdefault(step.paragraph, number)
        sources = [steps[n].paragraph for n in references(step.question, number)]
        edges |= {(source, step.paragraph) for source in sources if first[source] < own}
        if not sources:
            edges.add((ROOT, step.paragraph))
    return EvidenceGraph(edges)


def references(question: str, earlier: int) -> list[int]:
    """Numbers, from 0, of the earlier sub-questions that one refers to; ``#3`` after only two is plain text."""
    return [n - 1 for n in dict.fromkeys(map(int, _REFERENCE.findall(question))) if 1 <= n <= earlier]


def read_musique(record: Mapping[str, Any], where: str) -> ParsedQuestion | None:
    """A question; ``None`` if it is marked ``"answerable": false`` (in ``musique_full``), because it lacks a gold
    paragraph.

    Hops are the steps of its decomposition; the kind is the prefix of its id (``2hop``, ``3hop1``, …). HippoRAG's other
    samples have this form too, with ``text`` for ``paragraph_text`` and no decomposition. A decomposition over the
    supporting paragraphs gives the gold graph.

    Raises:
        DataError: a field is missing or has another type; the message names the location.
    """
    if "answerable" in record and not get_flag(record, "answerable", where):
        return None
    name = get_text(record, "id", where)
    context, gold = [], []
    for number, paragraph in enumerate(get_list(record, "paragraphs", where)):
        inside = f"{where}: paragraph {number}"
        paragraph = as_record(paragraph, inside)
        field = "paragraph_text" if "paragraph_text" in paragraph or "text" not in paragraph else "text"
        context.append(Paragraph(get_text(paragraph, "title", inside), get_text(paragraph, field, inside)))
        if get_flag(paragraph, "is_supporting", inside):
            gold.append(number)
    steps = sub_questions(record, where)
    return ParsedQuestion(
        id=name,
        question=get_text(record, "question", where),
        answers=get_answers(record, where),
        kind=name.split("__")[0] if "__" in name else "",
        context=tuple(context),
        gold=tuple(gold),
        hops=len(record["question_decomposition"]) if "question_decomposition" in record else None,
        graph=decomposition_graph(steps) if steps and _covers(steps, gold) else None,
    )


def _covers(steps: Sequence[SubQuestion], gold: Sequence[int]) -> bool:
    """True if the sub-questions are about exactly the supporting paragraphs."""
    return {step.paragraph for step in steps} == set(gold)


@dataclass(frozen=True)
class Decompositions:
    """Samples in the order of the file, and the ids of the questions that gave no sample, by reason."""

    examples: tuple[Example, ...]
    dropped: Mapping[str, tuple[str, ...]]


def read_decompositions(records: Sequence[tuple[str, Any]]) -> Decompositions:
    """The records of a MuSiQue file (`read_records`) as samples with evidence graphs over their paragraphs.

    Facts are the distinct paragraphs, title and text (`Passage.whole`), in the order of the file. The type is
    ``query``, because all answers are spans of a paragraph. Aliases of the answer are not kept.

    Raises:
        DataError: a field is missing or has another type, or an id is repeated; the message names the location.
    """
    examples: list[Example] = []
    dropped: dict[str, list[str]] = {}
    seen: set[str] = set()
    for where, record in records:
        name = get_text(as_record(record, where), "id", where)
        if name in seen:
            raise DataError(f"{where}: id is {repr_short(name)}, which an earlier record has, allowed: unique ids")
        seen.add(name)
        result = _example_or_reason(record, where)
        if isinstance(result, Example):
            examples.append(result)
        else:
            dropped.setdefault(result, []).append(name)
    return Decompositions(tuple(examples), {reason: tuple(names) for reason, names in dropped.items()})


def _example_or_reason(record: Mapping[str, Any], where: str) -> Example | str:
    """The sample, or the reason that there is none."""
    parsed = read_musique(record, where)
    if parsed is None:
        return NOT_ANSWERABLE
    if not parsed.question.strip() or not parsed.answers or not parsed.answers[0].strip():
        return NO_TEXT
    get_list(record, "question_decomposition", where)  # required for a sample
    steps = sub_questions(record, where)
    if steps is None:
        return NO_PARAGRAPH
    if not _covers(steps, parsed.gold):
        return OTHER_PARAGRAPHS
    texts = [Passage("", paragraph.title, paragraph.text).whole for paragraph in parsed.context]
    index = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    graph = decomposition_graph([step._replace(paragraph=index[texts[step.paragraph]]) for step in steps])
    return Example(parsed.id, parsed.question, tuple(index), graph, parsed.answers[0], (), "query")
