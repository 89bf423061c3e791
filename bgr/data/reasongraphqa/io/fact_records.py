"""The textual database of a dataset (``facts.jsonl``): reading all of it or a random sample, and its triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from sys import intern
from typing import Any, Protocol

from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, parse_json, shown


class StatedFacts(Protocol):
    """A sentence with the facts that it states and the names of their nodes, such as a `FactRecord`."""

    @property
    def id(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def facts(self) -> Sequence[Fact]: ...
    @property
    def names(self) -> Mapping[str, str]: ...


def fact_triples(fact: Fact, names: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """A fact as subject, predicate and object, and one more triple for each of its qualifiers.

    A qualifier is about a statement, which cannot be the subject of a triple. It becomes a property of the subject,
    named ``predicate, qualifier`` (``The Seventh Seal`` – ``review score, point in time`` – ``2015``).
    """
    subject = names[fact.head]
    yield subject, fact.predicate, names[fact.tail] if fact.tail is not None else str(fact.value)
    for key, value in fact.qualifiers:
        yield subject, f"{fact.predicate}, {key}", str(value)


def fact_corpus(records: Iterable[StatedFacts]) -> tuple[Corpus, list[Triple]]:
    """Every sentence as a passage without a title, in the given order, and the triples of all sentences.

    Raises:
        DataError: no record has facts (as in a released dataset), two have the same id, or a name or predicate is
            empty; the message names the record.
    """
    passages: dict[str, Passage] = {}
    triples: list[Triple] = []
    for number, record in enumerate(records):
        if record.id in passages:
            raise DataError(f"fact {shown(record.id)}: the id is repeated, allowed: unique ids")
        passages[record.id] = Passage(record.id, "", record.sentence)
        triples += (Triple(*row, number) for row in _rows(record))
    if passages and not triples:
        raise DataError(f"none of the {len(passages)} facts has triples; extract them by a language model")
    return Corpus(passages.values()), triples


def _rows(record: StatedFacts) -> Iterator[tuple[str, str, str]]:
    for fact in record.facts:
        try:
            yield from (three_parts(list(row)) for row in fact_triples(fact, record.names))
        except MalformedRowError as error:
            raise DataError(f"fact {shown(record.id)}: {error}") from None
        except KeyError as error:
            raise DataError(f"fact {shown(record.id)}: node {shown(error.args[0])} has no name") from None


@dataclass(frozen=True)
class FactRecord:
    """A sentence with its triples.

    Args:
        id: its id in the textual database.
        sentence: the text.
        gold: true if some question needs it.
        facts: the triples; empty if the dataset does not have them (the authors' release).
        names: name of every node in `facts`.
    """

    id: str
    sentence: str
    gold: bool
    facts: tuple[Fact, ...]
    names: Mapping[str, str]


@dataclass(frozen=True)
class FactSample:
    """Records sampled by seed, in the order of the file, out of `total`."""

    records: tuple[FactRecord, ...]
    total: int
    seed: int


def read_facts(folder: str | Path, *, progress: bool = False) -> Iterator[FactRecord]:
    """The facts of a dataset folder, one by one, in the order of the file.

    Args:
        folder: folder written by `bgr data build` or `bgr data convert`.
        progress: show a bar on standard error.

    Raises:
        DataError: no such file, an empty one, or an invalid line; the message names file and line.
    """
    path = Path(folder) / FACTS_FILE
    first: dict[str, int] = {}
    with tqdm(desc="facts", unit=" sentences", disable=not progress, delay=1) as bar:
        for number, line in _lines(path):
            record = _parse(line, f"{path}: line {number}")
            before = first.setdefault(record.id, number)
            if before != number:
                raise DataError(f"{path}: line {number}: id {shown(record.id)} is also in line {before}")
            yield record
            bar.update()
    if not first:
        raise DataError(f"{path}: has no facts")


def sample_facts(folder: str | Path, count: int, seed: int) -> FactSample:
    """A random sample of `count` facts of a dataset folder, or all if it has fewer; only these are kept in memory.

    Raises:
        DataError: `count` below 1, no such file, an empty one, or an invalid line; the message names file and line.
    """
    if count < 1:
        raise DataError(f"the number of facts is {count}, allowed: 1 or more")
    path = Path(folder) / FACTS_FILE
    total = sum(1 for _ in _lines(path))
    if not total:
        raise DataError(f"{path}: has no facts")
    chosen = set(Random(seed).sample(range(1, total + 1), min(count, total)))
    found = [_parse(line, f"{path}: line {number}") for number, line in _lines(path) if number in chosen]
    return FactSample(tuple(found), total, seed)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, from 1."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from enumerate(file, 1)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def _parse(line: str, where: str) -> FactRecord:
    record = parse_json(line, where)
    try:
        names: dict[str, str] = {}
        id, sentence = _text(record, "id"), _text(record, "sentence")
        facts = tuple(_fact(row, names) for row in _list(record, "facts"))
        gold = record.get("gold", False)
        if not isinstance(gold, bool):
            raise DataError(f"field 'gold' is {shown(gold)}, allowed: true or false")
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    return FactRecord(id, sentence, gold, facts, names)


def _fact(row: Any, names: dict[str, str]) -> Fact:
    # ids, names and predicates repeat: sharing one object for equal texts halves the memory
    head, predicate = intern(_text(row, "head")), intern(_text(row, "predicate"))
    names[head] = intern(_text(row, "name"))
    qualifiers = tuple(_qualifier(pair) for pair in _list(row, "qualifiers"))
    if "tail" not in row:
        return Fact(head, predicate, _value(_field(row, "value")), None, qualifiers)
    tail = intern(_text(row, "tail"))
    names[tail] = intern(_text(row, "tail_name"))
    return Fact(head, predicate, None, tail, qualifiers)


def _qualifier(pair: Any) -> tuple[str, Value]:
    if not isinstance(pair, list) or len(pair) != 2 or not is_text(pair[0]):
        raise DataError(f"qualifier {shown(pair)}, allowed: a list of its key and its value")
    return intern(pair[0]), _value(pair[1])


def _value(record: Any) -> Value:
    for name in ("type", "value"):
        _field(record, name)
    value = Value.from_json(record)
    if not is_text(str(value)):
        raise DataError(f"value {shown(str(value))}, allowed: characters that UTF-8 can encode")
    return value


def _field(record: Any, name: str) -> Any:
    if not isinstance(record, Mapping):
        raise DataError(f"must be an object, is {shown(record)}")
    if name not in record:
        raise DataError(f"lacks the field {name!r}")
    return record[name]


def _text(record: Any, name: str) -> str:
    found = _field(record, name)
    if not is_text(found) or not found.strip():
        raise DataError(f"field {name!r} is {shown(found)}, allowed: a non-empty text")
    return found


def _list(record: Any, name: str) -> list[Any]:
    """An optional field, by default an empty list."""
    found = _field(record, name) if name in record else []
    if not isinstance(found, list):
        raise DataError(f"field {name!r} is {shown(found)}, allowed: a list")
    return found
