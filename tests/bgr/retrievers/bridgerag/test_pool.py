"""Pools, fusion and graphs on cases computed by hand."""

import numpy as np
import pytest

from bgr.collection.search import Hits
from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.bridgerag.agent import bridge_graph
from bgr.retrievers.bridgerag.pool import best_first, best_scores, cosines, fuse, ranked, svo_cosines, union


def hits(**scores):
    return Hits(
        np.array([int(name[1:]) for name in scores], dtype=np.int64), np.array(list(scores.values()), dtype=np.float32)
    )


def test_a_passage_keeps_its_best_score():
    found = best_scores([hits(p3=0.5, p1=0.25), hits(p1=0.75, p2=0.5), hits()])
    assert found == {3: 0.5, 1: 0.75, 2: 0.5}
    assert list(best_first(found, 2).items()) == [(1, 0.75), (2, 0.5)]  # equal scores by place
    # the SVO search lost place 9 to its own limit, but another search has it
    assert union([{5: 0.4}, best_first({8: 0.9, 9: 0.1}, 1), {5: 0.6, 9: 0.2}], 2) == {8: 0.9, 5: 0.6}
    assert union([{}, {}], 5) == {}


def test_fusion_by_hand():
    # judge 5, 9, 9, 0 → 2/4, 4/4, 4/4, 1/4; cosines .2, .1, unknown, .3 → 3/4, 2/4, 1/4, 4/4
    found = fuse([5, 9, 9, 0], [0.2, 0.1, None, 0.3], 0.1)
    assert found.judge.tolist() == [0.5, 1, 1, 0.25]
    assert found.svo.tolist() == [0.75, 0.5, 0.25, 1]
    assert found.scores == pytest.approx([0.525, 0.95, 0.925, 0.325])
    assert ranked([40, 30, 20, 10], found.scores) == [1, 2, 0, 3]
    assert ranked([40, 30, 20, 10], fuse([5, 9, 9, 0], [0.2, 0.1, None, 0.3], 1.0).scores) == [3, 0, 1, 2]


def test_without_a_judge_the_cosine_decides():
    found = fuse(None, [0.2, None, 0.3], 0.1)
    assert found.judge is None
    assert found.scores.tolist() == found.svo.tolist() == [2 / 3, 1 / 3, 1]
    assert fuse(None, [], 0.1).scores.tolist() == []


def test_sums_that_differ_by_rounding_alone_go_by_place():
    # of 20 candidates one has ranks 8/20 and 16/20, another 9/20 and 7/20: .44 both, but not in floating point
    assert 0.9 * (8 / 20) + 0.1 * (16 / 20) != 0.9 * (9 / 20) + 0.1 * (7 / 20)
    judge = list(range(1, 21))
    svo = [float(n) for n in (*range(1, 7), 8, 16, 7, *range(9, 16), *range(17, 21))]
    assert (judge[7], svo[7], judge[8], svo[8]) == (8, 16, 9, 7)
    found = fuse(judge, svo, 0.1)
    assert found.scores[7] == found.scores[8] == 0.44
    assert ranked([*range(7), 40, 30, *range(50, 61)], found.scores).index(8) == 11


def test_cosines_of_every_candidate_are_those_of_the_search(dense, encode):
    queries = ["Ada Quist works for the foundry", "a town on the Oxla"]
    places = [5, 0, 2]
    found = cosines(dense, queries, places)
    for row, one in zip(found, dense.search(queries, 6), strict=True):
        scores = dict(zip(one.indices.tolist(), one.scores.tolist(), strict=True))
        assert row.tolist() == [scores[place] for place in places]
    assert svo_cosines(dense, queries, places, {}) == tuple(found.max(axis=0).tolist())


def test_without_vectors_only_what_was_found_has_a_cosine():
    assert svo_cosines(None, ["q"], [3, 1], {1: 0.5, 7: 0.9}) == (None, 0.5)


def test_graphs():
    assert bridge_graph(7, [3, 7, 9, 4], 3).edges == {(ROOT, 7), (7, 3), (7, 9)}
    assert bridge_graph(4, [3, 7, 9, 4], 2).edges == {(ROOT, 4), (4, 3), (4, 7)}  # ranked below the first two
    assert bridge_graph(8, [3, 7, 9], 2).edges == bridge_graph(None, [3, 7], 5).edges == {(ROOT, 3), (ROOT, 7)}
    assert bridge_graph(None, [], 5).edges == frozenset()
    assert bridge_graph(3, [3], 5).edges == {(ROOT, 3)}
