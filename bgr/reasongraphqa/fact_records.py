"""Reads back a dataset's textual database (``facts.jsonl``, written by `textual_database`): a seeded sample of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

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


def sample_facts(folder: str | Path, count: int, seed: int) -> FactSample:
    """`count` facts of a dataset folder, or all if it has fewer; only those drawn are kept in memory.

    Raises:
        DataError: `count` below 1, no such file, an empty one, or a line that is no fact (file and line are named).
    """
    if count < 1:
        raise DataError(f"the number of facts is {count}, allowed: 1 or more")
    path = Path(folder) / FACTS_FILE
    try:
        with path.open(encoding="utf-8") as file:
            total = sum(1 for _ in file)
        chosen = set(Random(seed).sample(range(total), min(count, total)))
        with path.open(encoding="utf-8") as file:
            found = [_parse(line, f"{path}: line {n + 1}") for n, line in enumerate(file) if n in chosen]
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    if not found:
        raise DataError(f"{path}: holds no facts")
    return FactSample(tuple(found), total, seed)


def _parse(line: str, where: str) -> FactRecord:
    try:
        record = json.loads(line)
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
    head = _text(row, "head")
    names[head] = _text(row, "name")
    qualifiers = tuple((str(key), Value.from_json(value)) for key, value in row.get("qualifiers", ()))
    if "tail" not in row:
        return Fact(head, _text(row, "predicate"), Value.from_json(row["value"]), None, qualifiers)
    tail = _text(row, "tail")
    names[tail] = _text(row, "tail_name")
    return Fact(head, _text(row, "predicate"), None, tail, qualifiers)


def _text(row: Mapping[str, Any], field: str) -> str:
    if not isinstance(row[field], str):
        raise DataError(f"field {field!r} must be text, is {type(row[field]).__name__}")
    return row[field]
