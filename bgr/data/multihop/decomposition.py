"""MuSiQue's questions as samples with evidence graphs over their paragraphs, such as BGR trains on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.collection.corpus import Passage
from bgr.data.example import Example
from bgr.data.multihop.assemble import Draft
from bgr.data.multihop.musique import SubQuestion, decomposition_graph, read_musique, sub_questions
from bgr.data.multihop.records import as_record, get_list, get_text
from bgr.errors import DataError
from bgr.utils.json_utils import shown

NOT_ANSWERABLE = "marked as not answerable"
NO_PARAGRAPH = "a sub-question has no text or no paragraph"
OTHER_PARAGRAPHS = "the supporting paragraphs are not those of the sub-questions"
NO_TEXT = "question or answer is empty"


@dataclass(frozen=True)
class Decomposed:
    """Samples in the order of the file, and the ids of the questions that gave none, by reason."""

    examples: tuple[Example, ...]
    dropped: Mapping[str, tuple[str, ...]]


def read_decompositions(records: Sequence[tuple[str, Any]]) -> Decomposed:
    """Every record of a MuSiQue file as a sample.

    Facts are the paragraphs, title and text (`Passage.whole`), in the order of the file; equal ones are one. The type
    is ``query``: MuSiQue asks for a piece of text that stands in a paragraph, in no other way. Other names of the
    answer have no place in a sample.

    Args:
        records: with where they stand, as `bgr.data.multihop.records.read_records` gives them.

    Raises:
        DataError: a field is missing or of another type, or an id is met again; the message says where.
    """
    found: dict[str, Example] = {}
    dropped: dict[str, list[str]] = {}
    seen: set[str] = set()
    for where, record in records:
        name = get_text(as_record(record, where), "id", where)
        if name in seen:
            raise DataError(f"{where}: id is {shown(name)}, which an earlier record has, allowed: each once")
        seen.add(name)
        result = _example(record, where)
        if isinstance(result, Example):
            found[name] = result
        else:
            dropped.setdefault(result, []).append(name)
    return Decomposed(tuple(found.values()), {reason: tuple(names) for reason, names in dropped.items()})


def _example(record: Mapping[str, Any], where: str) -> Example | str:
    """The sample, or why there is none."""
    drafts, _ = read_musique([(where, record)])
    if not drafts:
        return NOT_ANSWERABLE
    draft = drafts[0]
    if not draft.question.strip() or not draft.answers or not draft.answers[0].strip():
        return NO_TEXT
    get_list(record, "question_decomposition", where)  # here a record must have one
    steps = sub_questions(record, where)
    if steps is None:
        return NO_PARAGRAPH
    if {step.paragraph for step in steps} != set(draft.gold):
        return OTHER_PARAGRAPHS
    return _sample(draft, steps)


def _sample(draft: Draft, steps: Sequence[SubQuestion]) -> Example:
    texts = [Passage("", paragraph.title, paragraph.text).whole for paragraph in draft.context]
    place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    merged = [step._replace(paragraph=place[texts[step.paragraph]]) for step in steps]
    graph = decomposition_graph(merged)
    return Example(draft.id, draft.question, tuple(place), graph, draft.answers[0], (), "query")
