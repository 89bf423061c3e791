"""A knowledge base's facts as passages with their triples."""

from __future__ import annotations

from datetime import date

import pytest

from bgr.collection.corpus import Passage
from bgr.collection.triples.triple import Triple
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.io.fact_records import FactRecord, fact_corpus
from bgr.errors import DataError

NAMES = {"f1": "Persona", "p1": "Bibi  Andersson", "g": "gold"}
SCORE = Value("quantity", 43, "1")


def record(id, sentence, *facts, names=NAMES):
    return FactRecord(id, sentence, True, facts, names)


def test_passages_and_triples():
    corpus, triples = fact_corpus(
        [
            record("F0", "Persona stars Bibi Andersson.", Fact("f1", "cast member", tail="p1")),
            record("F1", "Nothing is known of this one."),
            record(
                "F2",
                "Persona ran on 18 October 1966 and got 43 from Metacritic.",
                Fact("f1", "publication date", Value("date", date(1966, 10, 18))),
                Fact("f1", "review score", SCORE, None, (("by", Value("string", "Metacritic")),)),
            ),
            record("F3", "Gold melts at 1064 °C.", Fact("g", "melting point", Value("quantity", 1064.0, "°C"))),
        ]
    )
    assert corpus.passages[0] == Passage("F0", "", "Persona stars Bibi Andersson.")
    assert [passage.whole for passage in corpus][1] == "Nothing is known of this one."
    assert triples == [
        Triple("Persona", "cast member", "Bibi Andersson", 0),
        Triple("Persona", "publication date", "1966-10-18", 2),
        Triple("Persona", "review score", "43", 2),
        Triple("Persona", "review score, by", "Metacritic", 2),
        Triple("gold", "melting point", "1064 °C", 3),
    ]


def test_what_cannot_be_used():
    fact = Fact("f1", "cast member", tail="p1")
    assert fact_corpus([])[1] == []
    for records, message in (
        ([record("F0", "a"), record("F1", "b")], "none of the 2 facts has triples"),
        ([record("F0", "a", fact), record("F0", "b", fact)], "'F0': the id is repeated"),
        ([record("F0", "a", fact, names={"f1": "Persona"})], "'F0': node 'p1' has no name"),
        ([record("F0", "a", fact, names={"f1": "Persona", "p1": " "})], "'F0': an empty part"),
    ):
        with pytest.raises(DataError, match=message):
            fact_corpus(records)
