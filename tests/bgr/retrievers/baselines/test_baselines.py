"""BM25 and random baselines: the paper's k, star graphs, determinism."""

import pytest

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts

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
