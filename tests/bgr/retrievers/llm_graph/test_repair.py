"""Edges at fault, by hand and against a slow twin."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.llm_graph.forms import FAULTS, repair


def faults(**counts):
    return dict.fromkeys(FAULTS, 0) | counts


def test_a_good_graph_stays():
    found = repair([(ROOT, 0), (0, 1), (ROOT, 1)], 9)
    assert found == (EvidenceGraph([(ROOT, 0), (0, 1), (ROOT, 1)]), faults())


def test_nothing_gives_nothing():
    assert repair([], 9) == (EvidenceGraph(), faults())


def test_the_later_edge_of_a_cycle_goes():
    assert repair([(ROOT, 0), (0, 1), (1, 2), (2, 0)], 9) == (
        EvidenceGraph([(ROOT, 0), (0, 1), (1, 2)]),
        faults(cycles=1),
    )
    # the same cycle, told from another edge on
    assert repair([(ROOT, 0), (2, 0), (0, 1), (1, 2)], 9) == (
        EvidenceGraph([(ROOT, 0), (2, 0), (0, 1), (ROOT, 2)]),
        faults(cycles=1, hung=1),
    )


def test_what_hangs_from_nothing_is_hung_from_the_question():
    found = repair([(ROOT, 0), (3, 4), (4, 5), (6, 5)], 9)
    assert found == (EvidenceGraph([(ROOT, 0), (ROOT, 3), (3, 4), (4, 5), (ROOT, 6), (6, 5)]), faults(hung=2))


def test_each_fault_is_counted():
    edges = [(0, ROOT), (1, 1), (ROOT, 1), (ROOT, 1), (ROOT, 2), (ROOT, 3)]
    found = repair(edges, 5)
    assert found == (EvidenceGraph([(ROOT, 1), (ROOT, 2)]), faults(into_question=1, loops=1, repeated=1, beyond=1))


def slow(edges, most):
    """The same by networkx, a new graph for every question asked of it."""
    kept = []
    for a, b in edges[:most]:
        graph = nx.DiGraph([*kept, (a, b)])
        if b != ROOT and (a, b) not in kept and nx.is_directed_acyclic_graph(graph):
            kept.append((a, b))
    graph = nx.DiGraph(kept)
    loose = [node for node in graph if graph.in_degree(node) == 0 and node != ROOT]
    return EvidenceGraph([*kept, *((ROOT, node) for node in loose)])


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 6)), max_size=24), st.integers(0, 24))
def test_like_the_slow_twin(edges, most):
    found = repair(edges, most)
    assert found.graph == slow(edges, most)
    out = sum(count for name, count in found.faults.items() if name != "hung")
    assert len(found.graph.edges) == len(edges) - out + found.faults["hung"]
