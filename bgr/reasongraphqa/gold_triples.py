"""From a gold sentence back to its triple, through the textual database as it is written."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.errors import DataError

Triple = tuple[str, str, str]
"""Head, predicate, and the tail's id or the value as JSON."""


def read_gold_triples(
    path: str | Path, sentences: Set[str], *, progress: bool = False
) -> dict[str, frozenset[Triple]] | None:
    """The triple that each of `sentences` is about: the first of the unit's, the others are joined to it.

    Two entities of one name may share a sentence; it then stands for the triples of both. A sentence that the file
    lacks is lacking in the result. Units that say of themselves that they are not gold are passed over.

    Returns:
        Sentence to triples, or ``None`` if no line names any (a converted released dataset).

    Raises:
        DataError: no such file, a line that is no unit, or triples in some lines and none in others.
    """
    path = Path(path)
    found: dict[str, set[Triple]] = {}
    bare, full = 0, 0  # the first line of either kind
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(tqdm(file, desc="facts", unit="sentence", disable=not progress), 1):
                record = _record(line, f"{path}: line {number}")
                if "facts" not in record:
                    bare = bare or number
                else:
                    full = full or number
                    if record["sentence"] in sentences and record.get("gold", True):
                        triple = _triple(record["facts"], f"{path}: line {number}")
                        found.setdefault(record["sentence"], set()).add(triple)
                if bare and full:
                    raise DataError(f"{path}: line {bare}: field 'facts' is missing, line {full} has it")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return None if bare else {sentence: frozenset(triples) for sentence, triples in found.items()}


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not valid JSON: {error.msg}") from None
    if not isinstance(record, dict) or not isinstance(record.get("sentence"), str):
        raise DataError(f"{where}: must be an object with a text 'sentence'")
    return record


def _triple(facts: Any, where: str) -> Triple:
    first = facts[0] if isinstance(facts, list) and facts else None
    if not isinstance(first, dict) or not ("tail" in first or "value" in first):
        raise DataError(f"{where}: 'facts' must list {{head, predicate, tail or value}}")
    try:
        tail = str(first["tail"]) if "tail" in first else json.dumps(first["value"], sort_keys=True)
        return str(first["head"]), str(first["predicate"]), tail
    except KeyError as error:
        raise DataError(f"{where}: a fact without {error.args[0]!r}") from None
