"""HippoRAG's graph and walk against plain definitions, and its agent with a scripted model."""

import numpy as np
import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import DenseSearch
from bgr.retrievers.base import Query
from bgr.retrievers.hipporag.agent import HippoRag
from bgr.retrievers.hipporag.graph import EntityGraph, entity_name
from bgr.retrievers.hipporag.steps import HippoSettings
from bgr.retrievers.scope import Scope

TRIPLES = (
    Triple("Ada Quist", "works for", "Borel foundry", 0),
    Triple("Ada Quist", "is", "engineer", 0),
    Triple("Borel foundry", "started in", "Tamrin", 1),
    Triple("Tamrin", "lies on", "Oxla", 2),
    Triple("the Oxla", "has length", "ninety miles", 5),
    Triple("law", "is", "law", 4),
)
QUESTION = "Where was the employer of Ada Quist started?"


@pytest.fixture
def scope(corpus, encode):
    return Scope(corpus, DenseSearch.of_texts([p.whole for p in corpus], encode), TripleIndex.build(TRIPLES, encode))


def plain_pagerank(index, encode, restart, damping, synonym):
    """The walk by loops over lists, for a hundred steps."""
    names = [entity_name(index, entity) for entity in range(len(index.starts) - 1)]
    vectors = encode(names)
    size = len(names)
    weights = [[0.0] * size for _ in range(size)]
    for a, b in zip(index.head.tolist(), index.tail.tolist(), strict=True):
        if a != b:
            weights[a][b] += 1
            weights[b][a] += 1
    for a in range(size):
        for b in range(size):
            cosine = float(vectors[a] @ vectors[b])
            if a != b and cosine > synonym:
                weights[a][b] += cosine
    probability = list(restart)
    for _ in range(100):
        after = [0.0] * size
        for a in range(size):
            total = sum(weights[a])
            for b in range(size):
                share = weights[a][b] / total if total else restart[b]
                after[b] += damping * share * probability[a]
        probability = [value + (1 - damping) * start for value, start in zip(after, restart, strict=True)]
    return probability


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_the_walk_is_that_of_the_plain_definition(scope, encode, damping):
    graph = EntityGraph.of(scope.index, 6, synonym=0.6, synonyms=10)
    size = len(graph.rows)
    rng = np.random.default_rng(0)
    restart = rng.random(size)
    restart /= restart.sum()
    found = graph.pagerank(restart, damping=damping, tolerance=1e-14)
    assert found.sum() == pytest.approx(1)
    assert found.tolist() == pytest.approx(plain_pagerank(scope.index, encode, restart, damping, 0.6), abs=1e-6)


def test_similar_names_have_an_edge(scope):
    names = [entity_name(scope.index, entity) for entity in range(len(scope.index.starts) - 1)]
    pair = names.index("Oxla"), names.index("the Oxla")
    assert EntityGraph.of(scope.index, 6, synonym=0.6, synonyms=10).walk[pair] > 0
    assert EntityGraph.of(scope.index, 6, synonym=1.0, synonyms=10).walk[pair] == 0


def test_mentions_count_triples_once_for_equal_ends(scope):
    graph = EntityGraph.of(scope.index, 6, synonym=1.0, synonyms=1)
    names = [entity_name(scope.index, entity) for entity in range(len(scope.index.starts) - 1)]
    assert graph.mentions[0, names.index("Ada Quist")] == 2
    assert graph.mentions[4, names.index("law")] == 1
    assert graph.passages[names.index("Borel foundry")] == 2


def test_the_walk_reaches_the_second_hop(scope, script):
    model = script(entities={"entities": ["Ada Quist"]})
    (found,) = HippoRag(model, scope, HippoSettings(synonym=0.99)).retrieve([Query(QUESTION)])
    assert found.indices[:3] == (0, 1, 2)
    assert 4 not in found.indices  # not reached
    assert found.trace[0]["nodes"] == ["Ada Quist"]
    assert found.usage.calls == 1


def test_specificity_gives_rare_nodes_more_weight(encode, script):
    corpus = Corpus(Passage(str(n), "", f"passage {n}") for n in range(4))
    triples = [Triple("common", "in", f"place {n}", n) for n in range(3)] + [Triple("rare", "in", "somewhere", 3)]
    search = DenseSearch.of_texts([p.whole for p in corpus], encode)
    scope = Scope(corpus, search, TripleIndex.build(triples, encode))
    model = script(entities={"entities": ["common", "rare"]})

    def rank_of_rare(**settings):
        (found,) = HippoRag(model, scope, HippoSettings(synonym=0.99, **settings)).retrieve([Query("q")])
        return found.scores[found.indices.index(3)]

    assert rank_of_rare() > rank_of_rare(specificity=False)


@pytest.mark.parametrize("kind", ["none", "failure"])
def test_without_an_entity_it_is_the_base_search(scope, script, fail, kind):
    reply = {"entities": []} if kind == "none" else fail("broken")
    (found,) = HippoRag(script(entities=reply), scope).retrieve([Query(QUESTION)])
    (hits,) = scope.find([QUESTION], 50)
    assert list(found.indices) == hits.indices.tolist()
    assert found.usage.failed == (kind == "failure")
    assert found.trace[0]["start"] == "base"


def test_a_question_can_have_its_own_candidates(scope, script, corpus):
    model = script(entities={"entities": ["Ada Quist"]})
    query = Query(QUESTION, candidates=[corpus[1].whole, corpus[0].whole])
    (found,) = HippoRag(model, scope).retrieve([query])
    assert found.indices == (1, 0)


def test_the_graph_of_a_collection_is_built_once(scope, script, monkeypatch):
    built = []
    of = EntityGraph.of.__func__
    monkeypatch.setattr(EntityGraph, "of", classmethod(lambda cls, *a, **k: built.append(1) or of(cls, *a, **k)))
    HippoRag(script(entities={"entities": ["Ada"]}), scope).retrieve([Query(QUESTION), Query("Oxla?")])
    assert built == [1]


@pytest.mark.parametrize("wrong", [{"damping": 1.0}, {"synonym": 0.0}, {"tolerance": 0.0}, {"entities": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HippoSettings(**wrong)
