"""One interface: a query over its own candidates equals a retriever that is built over these texts alone."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

import bgr.retrievers
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import Triple
from bgr.errors import BgrError
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers import BridgeRag, Gear, NaiveGe, Prism, Query, SearchRetriever, SyncGe, TwoStage
from bgr.retrievers.base import KEPT, RetrievalResult, Retriever, star
from bgr.retrievers.scope import Scope

NAMES = ["Ada Quist", "Borel foundry", "Tamrin", "Oxla", "Persona", "Sweden", "Alpha", "Paris"]
PASSAGES = [
    Passage(f"p{n}", name, f"{name} is near {NAMES[(n + 3) % 8]} and {NAMES[(5 * n + 1) % 8]}. It is old.")
    for n, name in enumerate(NAMES)
]
TRIPLES = [
    Triple(name, "near", NAMES[other], n) for n, name in enumerate(NAMES) for other in ((n + 3) % 8, (5 * n + 1) % 8)
]
QUESTIONS = ["Which town is near the Borel foundry?", "What is near Persona?", "What is old in Sweden?"]
SUBSETS = [[5, 1, 0, 6], [2, 4, 7, 3, 1], [6]]


def encode(texts):
    """Unit vectors of the texts' words; a row does not depend on the rows beside it."""
    rows = []
    for text in texts:
        row = np.full(16, 0.01)
        for word in text.lower().replace(".", " ").split():
            row += np.random.default_rng(zlib.crc32(word.encode())).normal(size=16)
        rows.append((row / np.linalg.norm(row)).astype(np.float32))
    return np.array(rows, dtype=np.float32).reshape(len(rows), 16)


class Model(LanguageModel):
    """Fits every schema; the reply depends on the prompt alone."""

    def __init__(self):
        self.batches = []

    def ask(self, requests):
        self.batches.append([request.messages[-1].content for request in requests])
        return [Reply(self._value(request), "", None, Usage(calls=1)) for request in requests]

    def _value(self, request):
        draw = random.Random(zlib.crc32(request.messages[-1].content.encode()))
        return self._draw(request.schema, draw)

    def _draw(self, schema, draw):
        kind = schema["type"]
        if kind == "object":
            return {name: self._draw(part, draw) for name, part in schema["properties"].items()}
        if kind == "array":
            low = schema.get("minItems", 0)
            count = draw.randint(max(low, 1), max(low, min(3, schema["maxItems"])))
            return [self._draw(schema["items"], draw) for _ in range(count)]
        if kind == "integer":
            return draw.randint(max(1, schema.get("minimum", 1)), schema.get("maximum", 3))
        return False if kind == "boolean" else draw.choice(NAMES)


def collection_of(indices):
    """A collection that is built over some of the passages."""
    position = {index: n for n, index in enumerate(indices)}
    triples = [one._replace(passage=position[one.passage]) for one in TRIPLES if one.passage in position]
    return Collection.in_memory(Corpus(PASSAGES[index] for index in indices), encoder=encode, triples=triples)


MAKERS = {
    "bm25": lambda c, llm: SearchRetriever.over(c, search="bm25", k=3),
    "dense": lambda c, llm: SearchRetriever.over(c, search="dense", k=3),
    "hybrid": lambda c, llm: SearchRetriever.over(c),
    "naive": lambda c, llm: NaiveGe.over(c),
    "sync": lambda c, llm: SyncGe.over(c, llm=llm, search="bm25"),
    "gear": lambda c, llm: Gear.over(c, llm=llm),
    "prism": lambda c, llm: Prism.over(c, llm=llm),
    "bridgerag": lambda c, llm: BridgeRag.over(c, llm=llm),
}


@pytest.mark.parametrize("name", MAKERS)
def test_candidates_are_a_collection_of_their_own(name):
    """The slow twin: one retriever for each question, over its own passages; calls differ in their batches alone."""
    llm, slow = Model(), Model()
    queries = [
        Query(question, [PASSAGES[index].whole for index in subset])
        for question, subset in zip(QUESTIONS, SUBSETS, strict=True)
    ]
    found = MAKERS[name](collection_of(range(8)), llm).retrieve(queries)
    for query, one, subset in zip(queries, found, SUBSETS, strict=True):
        # in its own collection PRISM too chooses from all passages
        (alone,) = MAKERS[name](collection_of(subset), slow).retrieve([Query(query.question)])
        assert replace(one, seconds=0) == replace(alone, seconds=0)
        assert one.texts == alone.texts
        assert set(one.texts) <= set(query.candidates)
        assert set(one.graph.nodes) <= set(one.indices)
        assert json.loads(json.dumps(one.trace)) == list(one.trace)
    assert sorted(chain(*llm.batches)) == sorted(chain(*slow.batches))
    if slow.batches:
        assert len([batch for batch in llm.batches if batch]) < len([batch for batch in slow.batches if batch])


@pytest.mark.parametrize("name", MAKERS)
def test_queries_with_and_without_candidates_go_together(name):
    own = Query(QUESTIONS[0], [PASSAGES[index].whole for index in SUBSETS[0]])
    whole = Query(QUESTIONS[1])
    together = MAKERS[name](collection_of(range(8)), Model()).retrieve([whole, own, whole])
    apart = [MAKERS[name](collection_of(range(8)), Model()).retrieve([query])[0] for query in (whole, own, whole)]
    assert [replace(one, seconds=0) for one in together] == [replace(one, seconds=0) for one in apart]


@pytest.mark.parametrize("name", MAKERS)
def test_candidates_that_the_collection_lacks_or_that_repeat(name):
    texts = [PASSAGES[1].whole, "Malmo is near Sweden.", PASSAGES[1].whole]
    (found,) = MAKERS[name](collection_of(range(8)), Model()).retrieve([Query(QUESTIONS[0], texts)])
    assert set(found.indices) <= {0, 1, 2}
    assert all(text in texts for text in found.texts)


def test_known_candidates_keep_their_ids_and_others_get_new_ones():
    scope = Scope(Corpus([*PASSAGES, Passage("candidate 1", "", "Oslo is old.")]))
    texts = [PASSAGES[1].whole, "Malmo is near Sweden.", PASSAGES[1].whole, "Oslo is old.", "Malmo is near Sweden."]
    ids = [passage.id for passage in scope.of(Query(QUESTIONS[0], texts)).corpus]
    assert (ids[0], ids[3]) == ("p1", "candidate 1")
    assert len(set(ids)) == len(ids)
    assert not {ids[1], ids[2], ids[4]} & scope.corpus.index_of.keys()


def test_candidates_of_a_query_are_encoded_once():
    encoded = []

    def counting(texts):
        encoded.extend(texts)
        return encode(texts)

    scope = Scope.over(Collection.in_memory(Corpus(PASSAGES), encoder=counting), "dense")
    texts = [PASSAGES[1].whole, "Malmo is near Sweden."]
    for candidates in (texts, texts, tuple(texts)):
        scope.of(Query(QUESTIONS[0], candidates)).find(["Where is Malmo?"], 1)
    assert encoded.count("Malmo is near Sweden.") == 1
    scope.of(Query(QUESTIONS[0], texts[::-1])).find(["Where is Malmo?"], 1)
    assert encoded.count("Malmo is near Sweden.") == 2


class Pair(Retriever):
    """Q → second candidate → first candidate."""

    def retrieve(self, queries):
        return [RetrievalResult(star([1]), searched=query.facts, details={KEPT: [2, 1]}) for query in queries]


def test_two_stages_count_in_the_collection():
    collection = collection_of(range(8))
    (found,) = TwoStage.over(collection, Pair(), count=3).retrieve([Query(QUESTIONS[0])])
    (hits,) = collection.hybrid.search([QUESTIONS[0]], 3)
    assert found.indices == (int(hits.indices[1]),)
    assert found.texts == (PASSAGES[found.indices[0]].whole,)


def test_what_two_stages_kept_counts_in_the_collection():
    collection = collection_of(range(8))
    queries = [Query(QUESTIONS[0]), Query(QUESTIONS[0], [passage.whole for passage in PASSAGES[:3]])]
    found, own = TwoStage.over(collection, Pair(), count=3).retrieve(queries)
    (hits,) = collection.hybrid.search([QUESTIONS[0]], 3)
    assert found.details == {KEPT: hits.indices[[2, 1]].tolist()}
    assert own.details == {KEPT: [2, 1]}


def test_classes_by_name():
    for name in bgr.retrievers.MODULES:
        assert getattr(bgr.retrievers, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'; it has: Bm25Facts, BridgeRag"):
        _ = bgr.retrievers.Nothing
    with pytest.raises(BgrError, match="this retriever needs candidates"):
        bgr.retrievers.RandomFacts(1).retrieve([Query("Why?")])
