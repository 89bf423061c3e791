"""HotpotQA (``hotpot_train_v1.1.json``, ``hotpot_dev_distractor_v1.json``, ``hotpot_dev_fullwiki_v1.json``) and
2WikiMultihopQA (``train.json``, ``dev.json``), which has the same form and also ``evidences``.

HippoRAG's samples of both (``hotpotqa.json``, ``2wikimultihopqa.json``) have this form too. Files without
``supporting_facts`` (the test sets) cannot be scored and are refused. 2WikiMultihopQA's aliases of answers are in a
separate file (``id_aliases.json``), which is not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgr.data.multihop.assemble import Paragraph, ParsedQuestion, join_sentences
from bgr.data.multihop.records import as_record, as_text, get_answers, get_list, get_text
from bgr.errors import DataError
from bgr.utils.json_utils import shown


def read_hotpotqa(records: Sequence[tuple[str, Any]]) -> tuple[list[ParsedQuestion], int]:
    """All questions, and 0, the number of those left out.

    A gold passage is given by its title in the question's own context; one that is not there (in the full-wiki setting)
    is missing. A gold sentence whose number is beyond the end of its paragraph, as a few are in HotpotQA, is dropped;
    its passage stays gold. The kind is ``type``: bridge, comparison; compositional, inference, bridge_comparison.

    Raises:
        DataError: a field is missing or has another type; the message names the location.
    """
    return [_parsed(as_record(record, where), where) for where, record in records], 0


def _parsed(record: Mapping[str, Any], where: str) -> ParsedQuestion:
    paragraphs = get_list(record, "context", where)
    context = tuple(_paragraph(value, f"{where}: context {n}") for n, value in enumerate(paragraphs))
    index: dict[str, int] = {}
    for number, paragraph in enumerate(context):
        index.setdefault(paragraph.title, number)
    supporting = get_list(record, "supporting_facts", where)
    facts = [_fact(value, f"{where}: supporting fact {n}") for n, value in enumerate(supporting)]
    titles = dict.fromkeys(title for title, _ in facts)
    sentences = dict.fromkeys((index[title], number) for title, number in facts if title in index)
    return ParsedQuestion(
        id=get_text(record, "_id" if "_id" in record or "id" not in record else "id", where),
        question=get_text(record, "question", where),
        answers=get_answers(record, where),
        kind=get_text(record, "type", where) if "type" in record else "",
        context=context,
        gold=tuple(index[title] for title in titles if title in index),
        sentences=tuple((place, number) for place, number in sentences if number < len(context[place].sentences)),
        missing=sum(title not in index for title in titles),
    )


def _paragraph(value: Any, where: str) -> Paragraph:
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[1], list)):
        raise DataError(f"{where}: is {shown(value)}, allowed: [title, [sentence, …]]")
    sentences = tuple(as_text(sentence, f"{where}: sentence {n}") for n, sentence in enumerate(value[1]))
    return Paragraph(as_text(value[0], f"{where}: title"), join_sentences(sentences), sentences)


def _fact(value: Any, where: str) -> tuple[str, int]:
    if not (isinstance(value, list) and len(value) == 2 and type(value[1]) is int and value[1] >= 0):
        raise DataError(f"{where}: is {shown(value)}, allowed: [title, number of a sentence, from 0]")
    return as_text(value[0], f"{where}: title"), value[1]
