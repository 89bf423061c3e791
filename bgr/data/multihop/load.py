"""Published multi-hop datasets and corpora: files whose form is recognized by their content.

Questions, in a JSON list or JSON lines:

- MuSiQue: see `musique`;
- HotpotQA (``hotpot_train_v1.1.json``, ``hotpot_dev_distractor_v1.json``, ``hotpot_dev_fullwiki_v1.json``) and
  2WikiMultihopQA (``train.json``, ``dev.json``), which has the same form and also ``evidences``. HippoRAG's samples of
  both have this form too. Files without ``supporting_facts`` (the test sets) cannot be scored and are refused.
  2WikiMultihopQA's aliases of answers are in a separate file (``id_aliases.json``), which is not read;
- IRCoT (``processed_data/*/{train,dev,dev_subsampled,test_subsampled}.jsonl`` of its authors), MuSiQue,
  2WikiMultihopQA and HotpotQA in one form: ``question_text`` with ``contexts`` and ``answers_objects``. GEAR uses its
  corpora, which are the contexts of all questions of a file;
- MultiHop-RAG: the queries of ``MultiHopRAG.json`` over the articles of ``corpus.json``. A passage is a whole article
  (the paper's baselines cut them into chunks). Evidence has only one sentence of its article, which is found by its
  address.

Corpora, as a JSON list or JSON lines unless they are objects; other fields are not read, but an ``id`` that only some
passages have is an error:

- HippoRAG (``musique_corpus.json``, ``hotpotqa_corpus.json``): list of ``{"title", "text"}``;
- HippoRAG (``hotpotqa_train_corpus.json``): object, title to a list of sentences (or to a text);
- MultiHop-RAG (``corpus.json``): list of ``{"title", "body", "url", …}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData, Paragraph, ParsedQuestion, PassagePool, assemble, join_sentences
from bgr.data.multihop.musique import read_musique
from bgr.data.records import as_record, as_text, get_answers, get_flag, get_list, get_text, read_records, read_text
from bgr.errors import DataError
from bgr.utils.json_utils import parse_json, repr_short

MARKS: Mapping[str, tuple[str, ...]] = {
    "musique": ("paragraphs",),
    "multihop-rag": ("query", "evidence_list"),
    "ircot": ("question_text", "contexts"),
    "2wikimultihopqa": ("context", "evidences"),
    "hotpotqa": ("context",),
}
"""Forms, and the fields by which they are recognized in the first record; the first form that fits is taken."""


def load_multihop(path: str | Path, *, corpus: str | Path | None = None, form: str | None = None) -> MultihopData:
    """Read a file of questions, and the corpus that is searched.

    Args:
        path: the questions, in one of the published forms (`MARKS`).
        corpus: a corpus file; by default the passages of all questions are the corpus.
        form: the name of the form; ``None`` recognizes it by the content.

    Raises:
        DataError: a file is missing or damaged, the form is unknown, or MultiHop-RAG has no corpus file.
    """
    path = Path(path)
    records = read_records(path)
    form = form or _form_of(*records[0])
    if form not in MARKS:
        raise DataError(f"unknown form {repr_short(form)}, known: {', '.join(sorted(MARKS))}")
    pool = read_corpus(corpus) if corpus is not None else None
    if form == "multihop-rag" and pool is None:
        raise DataError(f"{path}: MultiHop-RAG's queries have no passages; give its corpus.json as corpus file")
    parsed: list[ParsedQuestion | None] = []
    for number, (where, record) in enumerate(records):
        record = as_record(record, where)
        if form == "musique":
            parsed.append(read_musique(record, where))
        elif form == "ircot":
            parsed.append(_read_ircot(record, where))
        elif form == "multihop-rag" and pool is not None:
            parsed.append(_read_multihop_rag(record, where, str(number), pool.articles))
        else:
            parsed.append(_read_hotpotqa(record, where))
    questions = [question for question in parsed if question is not None]
    if not questions:
        raise DataError(f"{path}: has no answerable question")
    return assemble(path.stem, questions, pool, left_out=parsed.count(None))


def _form_of(where: str, record: Any) -> str:
    record = as_record(record, where)
    for form, fields in MARKS.items():
        if all(field in record for field in fields):
            return form
    known = "; ".join(f"{form}: {', '.join(fields)}" for form, fields in MARKS.items())
    raise DataError(f"{where}: unknown form, allowed: records with {known}")


def _read_hotpotqa(record: Mapping[str, Any], where: str) -> ParsedQuestion:
    """A question of HotpotQA or 2WikiMultihopQA.

    A gold passage is given by its title in the question's own context; one that is not there (in the full-wiki setting)
    is missing. A gold sentence whose number is beyond the end of its paragraph, as a few are in HotpotQA, is dropped;
    its passage stays gold. The kind is ``type``: bridge, comparison; compositional, inference, bridge_comparison.
    """
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
        raise DataError(f"{where}: is {repr_short(value)}, allowed: [title, [sentence, …]]")
    return _split_paragraph(value[0], value[1], where)


def _split_paragraph(title: Any, sentences: Sequence[Any], where: str) -> Paragraph:
    """A paragraph that a file gives as a list of sentences."""
    texts = tuple(as_text(sentence, f"{where}: sentence {n}") for n, sentence in enumerate(sentences))
    return Paragraph(as_text(title, f"{where}: title"), join_sentences(texts), texts)


def _fact(value: Any, where: str) -> tuple[str, int]:
    if not (isinstance(value, list) and len(value) == 2 and type(value[1]) is int and value[1] >= 0):
        raise DataError(f"{where}: is {repr_short(value)}, allowed: [title, number of a sentence, from 0]")
    return as_text(value[0], f"{where}: title"), value[1]


def _read_ircot(record: Mapping[str, Any], where: str) -> ParsedQuestion:
    """A question in IRCoT's form. The answers are the first answer's spans; the kind is ``type``, if it has one."""
    context, gold = [], []
    for number, paragraph in enumerate(get_list(record, "contexts", where)):
        inside = f"{where}: context {number}"
        paragraph = as_record(paragraph, inside)
        title, text = (get_text(paragraph, field, inside) for field in ("title", "paragraph_text"))
        context.append(Paragraph(title, text))
        if get_flag(paragraph, "is_supporting", inside):
            gold.append(number)
    answers = get_list(record, "answers_objects", where) if "answers_objects" in record else []
    first = as_record(answers[0], f"{where}: answers_objects 0") if answers else {}
    spans = get_list(first, "spans", where) if first else []
    return ParsedQuestion(
        id=get_text(record, "question_id", where),
        question=get_text(record, "question_text", where),
        answers=tuple(dict.fromkeys(as_text(span, f"{where}: span {n}") for n, span in enumerate(spans))),
        kind=get_text(record, "type", where) if isinstance(record.get("type"), str) else "",
        context=tuple(context),
        gold=tuple(gold),
    )


def _read_multihop_rag(
    record: Mapping[str, Any], where: str, id: str, articles: Mapping[str, Sequence[Paragraph]]
) -> ParsedQuestion:
    """A query, whose number is its id, because the file has none; null queries, which no article answers, have no gold.

    The kind is ``question_type`` (inference_query, comparison_query, temporal_query, null_query). If several articles
    share an address, the evidence is from the first that contains the sentence.
    """
    found: dict[str, Paragraph | None] = {}
    for number, evidence in enumerate(get_list(record, "evidence_list", where)):
        inside = f"{where}: evidence {number}"
        evidence = as_record(evidence, inside)
        address, fact = get_text(evidence, "url", inside), get_text(evidence, "fact", inside)
        if found.get(address) is None:
            there = articles.get(address, ())
            found[address] = next((one for one in there if fact in one.text), there[0] if there else None)
    context = tuple(article for article in found.values() if article is not None)
    return ParsedQuestion(
        id=id,
        question=get_text(record, "query", where),
        answers=get_answers(record, where),
        kind=get_text(record, "question_type", where),
        context=context,
        gold=tuple(range(len(context))),
        missing=len(found) - len(context),
    )


def read_corpus(path: str | Path, *, with_ids: bool = True) -> PassagePool:
    """Read a corpus in one of the forms above.

    Args:
        with_ids: whether passages with a text may have ids, which are not kept: title and text give others.

    Raises:
        DataError: the file is missing or damaged, or an item has another form; the message names it.
    """
    path, pool = Path(path), PassagePool()
    titles = _by_title(path)
    if titles is not None:
        for title, value in titles.items():
            pool.add(_titled(title, value, f"{path}: {repr_short(title)}"))
        return pool
    ids: bool | None = None
    for where, record in read_records(path):
        record = as_record(record, where)
        if ids not in (None, "id" in record):
            raise DataError(
                f"{where}: {'has' if not ids else 'lacks'} an id, unlike those before; all have one, or none"
            )
        ids = "id" in record
        field = "body" if "body" in record and "text" not in record else "text"
        if ids and not with_ids and field == "text":  # the published form with a body has ids that nothing names
            raise DataError(f"{where}: has an id; passages with ids are JSON lines, one object in each line")
        paragraph = Paragraph(get_text(record, "title", where), get_text(record, field, where))
        pool.add(paragraph)
        if "url" in record:
            pool.articles.setdefault(get_text(record, "url", where), []).append(paragraph)
    return pool


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
    if isinstance(value, list):
        return _split_paragraph(title, value, where)
    if not isinstance(value, str):
        raise DataError(f"{where}: is {repr_short(value)}, allowed: a text or a list of sentences")
    return Paragraph(as_text(title, f"{where}: title"), as_text(value, where))
