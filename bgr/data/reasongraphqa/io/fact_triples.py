"""Sentences made from a knowledge base, as passages, with the triples that they state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.data.kb.schema import Fact
from bgr.errors import DataError
from bgr.utils.json_utils import shown


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
