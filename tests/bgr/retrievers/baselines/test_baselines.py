"""BM25 and random baselines, and the selection of paths."""

import math

import pytest

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.beam import AllPaths, FoundPath, NearBest, Search, TopFacts
from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts
from bgr.retrievers.baselines.trained import result_of

FACTS = ("Persona was made in Sweden.", "Oslo lies in Norway.", "The capital of Sweden is Stockholm.", "Gold is heavy.")


def test_bm25_takes_the_gold_count_and_hangs_all_from_the_question():
    result = Bm25Facts().retrieve([Query("Where was Persona made?", FACTS, 1), Query("capital of Sweden?", FACTS, 2)])
    assert result[0].graph == EvidenceGraph([(ROOT, 0)])
    assert result[1].graph == EvidenceGraph([(ROOT, 0), (ROOT, 2)])
    assert result[1].graph.scores[ROOT, 2] > result[1].graph.scores[ROOT, 0] > 0


@pytest.mark.parametrize("retriever", [Bm25Facts(3), RandomFacts(3)])
def test_fixed_k_and_fewer_facts_than_k(retriever):
    many, few, none = retriever.retrieve([Query("q", FACTS), Query("q", FACTS[:2]), Query("q", ())])
    assert [len(r.graph.nodes) for r in (many, few, none)] == [3, 2, 0]


def test_random_depends_on_seed_and_question_only():
    queries = [Query(f"question {n}", FACTS, 2) for n in range(20)]
    first = [r.graph for r in RandomFacts(seed=1).retrieve(queries)]
    assert first == [RandomFacts(seed=1).retrieve([query])[0].graph for query in queries]
    assert first != [r.graph for r in RandomFacts(seed=2).retrieve(queries)]
    assert {n for graph in first for n in graph.nodes} == {0, 1, 2, 3}


def test_a_missing_or_senseless_k_is_an_error():
    with pytest.raises(BgrError, match="number of gold facts"):
        Bm25Facts().retrieve([Query("q", FACTS)])
    with pytest.raises(BgrError, match="-1"):
        RandomFacts(-1)


SINGLE = [FoundPath((2,), 5.0), FoundPath((0,), 3.0), FoundPath((1,), 1.0)]
CHAINS = [FoundPath((0, 1), -0.1), FoundPath((2,), -0.8), FoundPath((1,), -3.0)]
QUERY = Query("q", ("a", "b", "c"), 2)


def test_top_facts_takes_the_gold_count_or_k():
    assert TopFacts()(SINGLE, QUERY) == SINGLE[:2]
    assert [len(TopFacts(k)(SINGLE, QUERY)) for k in (0, 1, 9)] == [0, 1, 3]


@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_a_senseless_k(k):
    with pytest.raises(BgrError, match="must be 0 or more"):
        TopFacts(k)


def test_no_gold_count():
    with pytest.raises(BgrError, match="no number of gold facts"):
        TopFacts()(SINGLE, Query("q", ("a",)))


def test_near_best_keeps_what_is_within_the_margin():
    kept = {margin: [path.facts for path in NearBest(margin)(CHAINS, QUERY)] for margin in (0, 0.5, 1, 5)}
    assert kept == {0: [(0, 1)], 0.5: [(0, 1)], 1: [(0, 1), (2,)], 5: [(0, 1), (2,), (1,)]}
    assert NearBest(0)(CHAINS, QUERY)[0].score == pytest.approx(math.exp(-0.1))
    assert NearBest(0)([], QUERY) == []


@pytest.mark.parametrize("margin", [-0.1, math.inf, math.nan, "1"])
def test_a_senseless_margin(margin):
    with pytest.raises(BgrError, match="margin"):
        NearBest(margin)


def test_results_name_limits_and_cycles():
    found = Search((FoundPath((0, 1), -0.1), FoundPath((1, 0), -0.2)), ("max_depth",))
    result = result_of(found, QUERY, AllPaths())
    assert result.limits == ("max_depth", "cycle")
    assert result.graph.edges == {(ROOT, 0), (0, 1), (ROOT, 1)}
