"""GEAR with passages and triples in Milvus: the run that it makes with both in memory."""

from __future__ import annotations

import pytest

from bgr.collection.corpus import Corpus
from bgr.collection.milvus import MilvusCollection, MilvusSearch
from bgr.collection.triples.triple import triple_corpus
from bgr.collection.vectors import DenseSearch, VectorRows
from bgr.retrievers.base import Query
from bgr.retrievers.gear.agent import Gear
from bgr.retrievers.gear.steps import GearSettings
from bgr.retrievers.scope import Scope

pytest.importorskip("pymilvus", reason="Milvus' client is not installed (pip install pymilvus milvus-lite)")
pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")

QUESTION = "How long is the stream at the town where the employer of Ada Quist was started?"
FACTS = {"facts": [["Ada Quist", "works for", "Borel foundry"], ["Borel foundry", "started in", "Tamrin"]]}
SETTINGS = GearSettings(round_passages=2, rounds=2)


@pytest.fixture
def stored(tmp_path, corpus, index, encode):
    """Passages, and the index' triples with its vectors, in one file."""
    uri = str(tmp_path / "local.db")
    passages = MilvusSearch.build(MilvusCollection(uri, "passages"), corpus, encode, key="words")
    triples, vectors = MilvusCollection(uri, "triples"), VectorRows([index.vectors])
    return passages, MilvusSearch.build(triples, triple_corpus(index.triples), encode, key="words", vectors=vectors)


@pytest.mark.workflow
def test_the_same_run(script, corpus, index, encode, stored):
    def run(base, triples):
        llm = script(
            read=lambda _: FACTS,
            gist=lambda _: FACTS,
            reason=lambda _: {"answerable": False, "answer": "", "why": "the length is not known"},
            rewrite=lambda _: {"query": "How many miles is the Oxla long?"},
        )
        return Gear(llm, Scope(corpus, base, index, triples), SETTINGS).retrieve(
            [Query(QUESTION), Query("What is Ada?")]
        )

    base = DenseSearch.of_texts([passage.whole for passage in corpus], encode)
    for here, there in zip(run(base, None), run(*stored), strict=True):
        assert (here.indices, here.scores, here.graph) == (there.indices, there.scores, there.graph)
        assert here.trace == there.trace
        assert any(row["triple"] is not None for row in here.trace[-1]["facts"])


@pytest.mark.workflow
def test_the_same_triples(index, stored):
    _, triples = stored
    queries = [*(triple.text for triple in index.triples), "Oxla stream"]
    for k in (1, 3, 99):
        for here, there in zip(index.search(queries, k), triples.search(queries, k), strict=True):
            assert here.indices.tolist() == there.indices.tolist()
            assert here.scores.tolist() == pytest.approx(there.scores.tolist(), abs=1e-6)


def test_vectors_must_be_those_of_the_passages(tmp_path, corpus, index, encode):
    collection = MilvusCollection(str(tmp_path / "local.db"), "passages")
    with pytest.raises(ValueError, match="8 vectors for 6 passages"):
        MilvusSearch.build(collection, corpus, encode, key="words", vectors=VectorRows([index.vectors]))
    assert MilvusSearch.build(collection, Corpus([]), encode, key="words", overwrite=True).count() == 0
