"""Reads back a dataset's textual database (``facts.jsonl``, written by `textual_database`): all of it, or a sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from sys import intern
from typing import Any

from tqdm import tqdm

from bgr.errors import DataError
from bgr.kb.schema import Fact, Value
from bgr.reasongraphqa.dataset import FACTS_FILE


@dataclass(frozen=True)
class FactRecord:
    """One sentence with the triples it states.

    Args:
        id: its id in the textual database.
        sentence: the text.
        gold: whether some question needs it.
        facts: the triples; empty where the dataset does not hold them (the authors' release).
        names: name of every node in `facts`.
    """

    id: str
    sentence: str
    gold: bool
    facts: tuple[Fact, ...]
    names: Mapping[str, str]


@dataclass(frozen=True)
class FactSample:
    """Records drawn by seed, in the order of the file, out of `total`."""

    records: tuple[FactRecord, ...]
    total: int
    seed: int


def read_facts(folder: str | Path, *, progress: bool = False) -> Iterator[FactRecord]:
    """The facts of a dataset folder, one after the other, one a line of the file.

    Args:
        folder: what `bgr data build` or `bgr data convert` wrote.
        progress: show a bar on standard error.

    Raises:
        DataError: no such file, an empty one, or a line that is no fact (file and line are named).
    """
    path = Path(folder) / FACTS_FILE
    empty = True
    with tqdm(desc="facts", unit=" sentences", disable=not progress, delay=1) as bar:
        for number, line in _lines(path):
            empty = False
            yield _parse(line, f"{path}: line {number}")
            bar.update()
    if empty:
        raise DataError(f"{path}: holds no facts")


def sample_facts(folder: str | Path, count: int, seed: int) -> FactSample:
    """`count` facts of a dataset folder, or all if it has fewer; only those drawn are kept in memory.

    Raises:
        DataError: `count` below 1, no such file, an empty one, or a line that is no fact (file and line are named).
    """
    if count < 1:
        raise DataError(f"the number of facts is {count}, allowed: 1 or more")
    path = Path(folder) / FACTS_FILE
    total = sum(1 for _ in _lines(path))
    if not total:
        raise DataError(f"{path}: holds no facts")
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
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise DataError("must be an object")
        names: dict[str, str] = {}
        facts = tuple(_fact(row, names) for row in record.get("facts", ()))
        return FactRecord(_text(record, "id"), _text(record, "sentence"), bool(record.get("gold", False)), facts, names)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not valid JSON: {error.msg}") from None
    except KeyError as error:
        raise DataError(f"{where}: lacks the field {error.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError, DataError) as error:
        raise DataError(f"{where}: not a fact as bgr data build writes it: {error}") from None


def _fact(row: Mapping[str, Any], names: dict[str, str]) -> Fact:
    # ids, names and predicates come again and again: one object for equal ones halves the memory
    head, predicate = intern(_text(row, "head")), intern(_text(row, "predicate"))
    names[head] = intern(_text(row, "name"))
    qualifiers = tuple((intern(str(key)), Value.from_json(value)) for key, value in row.get("qualifiers", ()))
    if "tail" not in row:
        return Fact(head, predicate, Value.from_json(row["value"]), None, qualifiers)
    tail = intern(_text(row, "tail"))
    names[tail] = intern(_text(row, "tail_name"))
    return Fact(head, predicate, None, tail, qualifiers)


def _text(row: Mapping[str, Any], field: str) -> str:
    if not isinstance(row[field], str):
        raise DataError(f"field {field!r} must be text, is {type(row[field]).__name__}")
    return row[field]
