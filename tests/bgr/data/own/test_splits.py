"""Splits of own data by seed, groups that stay together, and what is shared all the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.example import Example
from bgr.data.own.splits import assign_splits, grouped, shared_between
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def test_items_that_are_joined_by_others_are_one_group():
    assert grouped([{"a"}, {"b"}, {"b", "c"}, {"c", "a"}, {"d"}, set()]) == [0, 0, 0, 0, 4, 5]


@given(st.lists(st.sets(st.integers(0, 12), max_size=3), max_size=15))
def test_groups_equal_a_slow_search(keys):
    found = grouped(keys)
    for start in range(len(keys)):
        reached, waiting = {start}, [start]
        while waiting:
            one = waiting.pop()
            near = {n for n in range(len(keys)) if keys[n] & keys[one]} - reached
            reached |= near
            waiting += near
        assert {n for n in range(len(keys)) if found[n] == found[start]} == reached


@given(st.lists(st.integers(0, 20), min_size=1, max_size=60), st.integers(0, 5))
def test_groups_stay_together_and_the_seed_decides(groups, seed):
    given_splits = [None] * len(groups)
    found = assign_splits(groups, given_splits, (80, 10, 10), seed)
    assert found == assign_splits(groups, given_splits, (80, 10, 10), seed)
    for one in set(groups):
        assert len({split for group, split in zip(groups, found, strict=True) if group == one}) == 1


def test_shares_are_met_by_single_questions():
    found = assign_splits(range(50), [None] * 50, (60, 20, 20), 3)
    assert [found.count(name) for name in ("train", "dev", "test")] == [30, 10, 10]
    assert found != assign_splits(range(50), [None] * 50, (60, 20, 20), 4)


def test_a_given_split_is_kept_and_taken_by_its_group():
    assert assign_splits([0, 0, 2], ["test", None, "dev"], (100, 0, 0), 0) == ["test", "test", "dev"]


@pytest.mark.parametrize("shares", [(0, 0, 0), (90, -10, 20)])
def test_shares_that_are_none(shares):
    with pytest.raises(ValueError, match="allowed: integers from 0, one of them above 0"):
        assign_splits([0], [None], shares, 0)


def test_what_splits_share_is_counted():
    def example(id, question, facts):
        graph = EvidenceGraph([(ROOT, n) for n in range(len(facts))])
        return Example(id, question, (*facts, "More."), graph, "a", (), "query")

    splits = {
        "train": [example("1", "Who?", ["A.", "B."])],
        "dev": [example("2", "who", ["A."]), example("3", "Where?", ["B.", "A."])],
        "test": [example("4", "When?", ["A."]), example("5", "Why?", ["D."])],
    }
    names = "question text", "a fact of the evidence", "all facts of the evidence"
    assert shared_between(splits) == {
        "dev": dict(zip(names, (1, 2, 1), strict=True)),
        "test": dict(zip(names, (0, 1, 1), strict=True)),
    }
