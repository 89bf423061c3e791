"""What a verifier changes in the result of a direction."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.graph_hop.likelihood import FLOOR, DirectionResult, Step, graph_at
from bgr.retrievers.graph_hop.verify import considered, fact_odds, verified

ODDS = st.floats(-7, 7)


def step(odds):
    """All possible next facts have odds."""
    return Step(-sum(math.log1p(math.exp(value)) for value in odds.values()), odds)


def result(first, second):
    """The forward result of a walk to fact 0 or 1, and from 0 to 2."""
    steps = {(): step(first), (0,): step(second)}
    odds = {(ROOT, fact): value for fact, value in first.items()}
    odds |= {(0, fact): min(value, first[0]) for fact, value in second.items()}
    return DirectionResult(graph_at(steps, 0.5, forward=True), (), odds, steps)


def test_each_fact_has_the_odds_of_its_best_edge():
    assert fact_odds({(ROOT, 3): -1.0, (2, 3): 2.0, (ROOT, 2): 0.5, (2, ROOT): 9.0}) == {3: 2.0, 2: 0.5}


def test_the_most_probable_facts_are_considered():
    one, two = result({0: 3.0, 1: -2.0}, {2: 1.0}), result({0: 1.0, 1: 6.0}, {})
    assert list(considered(one, two, 3).items()) == [(0, (3.0, 1.0)), (1, (-2.0, 6.0)), (2, (1.0, FLOOR))]
    assert list(considered(one, two, 1)) == [0]


def test_no_gain_changes_nothing():
    one = result({0: 3.0, 1: -2.0}, {2: 1.0})
    assert verified(one, {}, 0.5, forward=True) is one


@given(ODDS, ODDS, ODDS, st.dictionaries(st.integers(0, 2), ODDS))
def test_gains_are_added_to_each_edge_and_step(zero, one, two, gains):
    first, second = {0: zero, 1: one}, {2: two}
    found = verified(result(first, second), gains, 0.5, forward=True)
    assert found.odds[(ROOT, 1)] == pytest.approx(one + gains.get(1, 0))
    for path, odds in (((), first), ((0,), second)):
        changed = {fact: value + gains.get(fact, 0.0) for fact, value in odds.items()}
        assert found.steps[path].odds == pytest.approx(changed)
        assert found.steps[path].nothing == pytest.approx(step(changed).nothing, abs=1e-9)
    if gains:
        assert found.graph == graph_at(found.steps, 0.5, forward=True)


def test_a_fact_that_is_refused_leaves_the_graph_and_a_missed_one_enters():
    one = result({0: 3.0, 1: 1.0}, {2: -1.0})
    assert set(one.graph.nodes) == {0, 1}
    found = verified(one, {1: -5.0, 2: 5.0}, 0.5, forward=True)
    assert set(found.graph.edges) == {(ROOT, 0), (0, 2)}
