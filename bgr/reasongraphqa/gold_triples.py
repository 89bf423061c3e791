"""From a gold sentence back to its triple, through the textual database as it is written."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from bgr.errors import DataError
from bgr.kb.schema import Fact, Value
from bgr.reasongraphqa.dataset import FACTS_FILE
from bgr.reasongraphqa.fact_records import read_facts

Triple = tuple[str, str, str | Value]
"""Head, predicate, and the tail's id or the value."""


def read_gold_triples(
    folder: str | Path, sentences: Set[str], *, progress: bool = False
) -> dict[str, frozenset[Triple]] | None:
    """The triple that each of `sentences` is about: the first of the unit's, the others are joined to it.

    Two entities of one name may share a sentence; it then stands for the triples of both. A sentence that the dataset's
    ``facts.jsonl`` lacks is lacking in the result. Units that are not gold are passed over.

    Returns:
        Sentence to triples, or ``None`` if no line names any (a converted released dataset).

    Raises:
        DataError: no such file, a line that is no unit, or triples in some lines and none in others.
    """
    found: dict[str, set[Triple]] = {}
    bare, full = 0, 0  # the first line of either kind
    for number, record in enumerate(read_facts(folder, progress=progress), 1):
        if record.facts:
            full = full or number
            if record.gold and record.sentence in sentences:
                found.setdefault(record.sentence, set()).add(_triple(record.facts[0]))
        else:
            bare = bare or number
        if bare and full:
            raise DataError(f"{Path(folder) / FACTS_FILE}: line {bare}: field 'facts' names none, line {full} has some")
    return None if bare else {sentence: frozenset(triples) for sentence, triples in found.items()}


def _triple(fact: Fact) -> Triple:
    end = fact.value if fact.tail is None else fact.tail
    assert end is not None  # `Fact` has one of them
    return fact.head, fact.predicate, end
