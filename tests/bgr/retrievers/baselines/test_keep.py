import math

import pytest

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.beam import AllPaths, FoundPath, NearBest, Search, TopFacts
from bgr.retrievers.baselines.trained import result_of

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
