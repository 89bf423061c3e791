"""The textual database of a dataset (``facts.jsonl``): reading all of it or a random sample, and its triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from sys import intern
from typing import Any

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE, numbered_lines, read_lines
from bgr.data.records import as_record, get_field, get_flag, get_list, get_text
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, parse_json, repr_short, text_problem


@dataclass(frozen=True)
class FactRecord:
    """A sentence with its triples.

    Args:
        gold: true if some question needs it.
        facts: the triples; empty if the dataset does not have them (the authors' release).
        names: name of every node in `facts`.
    """

    id: str
    sentence: str
    gold: bool
    facts: tuple[Fact, ...]
    names: Mapping[str, str]


def fact_triples(fact: Fact, names: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A fact as subject, predicate and object, and one more triple for each of its qualifiers.

    A qualifier is about a statement, which cannot be the subject of a triple. It becomes a property of the subject,
    named ``predicate, qualifier`` (``The Seventh Seal`` – ``review score, point in time`` – ``2015``).
    """
    subject = names[fact.head]
    yield subject, fact.predicate, names[fact.tail] if fact.tail is not None else str(fact.value)
    for key, value in fact.qualifiers:
        yield subject, f"{fact.predicate}, {key}", str(value)


def fact_corpus(records: Iterable[FactRecord]) -> tuple[Corpus, list[Triple]]:
    """Every sentence as a passage without a title, in the given order, and the triples of all sentences.

    Raises:
        DataError: no record has facts (as in a released dataset), two have the same id, or a name or predicate is
            empty; the message names the record.
    """
    passages: dict[str, Passage] = {}
    triples: list[Triple] = []
    for number, record in enumerate(records):
        if record.id in passages:
            raise DataError(f"fact {repr_short(record.id)}: the id is repeated, allowed: unique ids")
        passages[record.id] = Passage(record.id, "", record.sentence)
        try:
            for fact in record.facts:
                triples += (Triple(*three_parts(list(row)), number) for row in fact_triples(fact, record.names))
        except MalformedRowError as error:
            raise DataError(f"fact {repr_short(record.id)}: {error}") from None
        except KeyError as error:
            raise DataError(f"fact {repr_short(record.id)}: node {repr_short(error.args[0])} has no name") from None
    if passages and not triples:
        raise DataError(f"none of the {len(passages)} facts has triples; extract them by a language model")
    return Corpus(passages.values()), triples


@dataclass(frozen=True)
class FactSample:
    """Records sampled by seed, in the order of the file, out of `total`."""

    records: tuple[FactRecord, ...]
    total: int
    seed: int


def read_facts(folder: str | Path, *, progress: bool = False) -> Iterator[FactRecord]:
    """The facts of a dataset folder, one by one, in the order of the file.

    Raises:
        DataError: no such file, an empty one, or an invalid line; the message names file and line.
    """
    path = Path(folder) / FACTS_FILE
    empty = True
    for record in read_lines(path, _parse, unit="sentences", progress=progress):
        empty = False
        yield record
    if empty:
        raise DataError(f"{path}: has no facts")


def sample_facts(folder: str | Path, count: int, seed: int) -> FactSample:
    """A random sample of `count` facts of a dataset folder, or all if it has fewer; only these are kept in memory.

    Raises:
        DataError: `count` below 1, no such file, an empty one, or an invalid line; the message names file and line.
    """
    if count < 1:
        raise DataError(f"the number of facts is {count}, allowed: 1 or more")
    path = Path(folder) / FACTS_FILE
    total = sum(1 for _ in numbered_lines(path))
    if not total:
        raise DataError(f"{path}: has no facts")
    chosen = set(Random(seed).sample(range(1, total + 1), min(count, total)))
    found = [_parse(line, f"{path}: line {number}") for number, line in numbered_lines(path) if number in chosen]
    return FactSample(tuple(found), total, seed)


def _parse(line: str, where: str) -> FactRecord:
    record = as_record(parse_json(line, where), where)
    names: dict[str, str] = {}
    id, sentence = _text(record, "id", where), _text(record, "sentence", where)
    if problem := text_problem(sentence):
        raise DataError(f"{where}: sentence {problem}")
    rows = get_list(record, "facts", where) if "facts" in record else []
    facts = tuple(_fact(row, names, f"{where}: fact {n}") for n, row in enumerate(rows))
    gold = "gold" in record and get_flag(record, "gold", where)
    return FactRecord(id, sentence, gold, facts, names)


def _fact(row: Any, names: dict[str, str], where: str) -> Fact:
    row = as_record(row, where)
    # ids, names and predicates repeat: sharing one object for equal texts halves the memory
    head, predicate = intern(_text(row, "head", where)), intern(_text(row, "predicate", where))
    names[head] = intern(_text(row, "name", where))
    pairs = get_list(row, "qualifiers", where) if "qualifiers" in row else []
    qualifiers = tuple(_qualifier(pair, where) for pair in pairs)
    if "tail" not in row:
        return Fact(head, predicate, _value(get_field(row, "value", where, "an object"), where), None, qualifiers)
    tail = intern(_text(row, "tail", where))
    names[tail] = intern(_text(row, "tail_name", where))
    return Fact(head, predicate, None, tail, qualifiers)


def _qualifier(pair: Any, where: str) -> tuple[str, Value]:
    if not isinstance(pair, list) or len(pair) != 2 or not is_text(pair[0]):
        raise DataError(f"{where}: qualifier {repr_short(pair)}, allowed: a list of its key and its value")
    return intern(pair[0]), _value(pair[1], where)


def _value(record: Any, where: str) -> Value:
    record = as_record(record, f"{where}: value")
    for name in ("type", "value"):
        get_field(record, name, f"{where}: value", "a text or a number")
    try:
        value = Value.from_json(record)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if not is_text(str(value)):
        raise DataError(f"{where}: value {repr_short(str(value))}, allowed: characters that UTF-8 can encode")
    return value


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    text = get_text(record, name, where)
    if not text.strip():
        raise DataError(f"{where}: {name} is empty, allowed: a non-empty text")
    return text
