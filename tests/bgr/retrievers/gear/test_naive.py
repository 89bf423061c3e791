"""NaiveGE: the second hop through a shared entity, by hand."""

import json

import pytest

from bgr.collection.search import rrf
from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.base import Query
from bgr.retrievers.gear.beam import BeamSettings
from bgr.retrievers.gear.scores import EncodedText, MeanVectors
from bgr.retrievers.gear.steps import GearSettings
from bgr.retrievers.gear.sync import NaiveGe

QUESTION = "Where was the employer of Ada Quist, the engineer who works with care, started?"
TWO = GearSettings(passages=2)


def test_the_question_alone_does_not_find_the_second_hop(base):
    assert base.search([QUESTION], 3)[0].indices.tolist() == [0, 3, 4]


@pytest.mark.parametrize("score", [MeanVectors, EncodedText])
def test_a_shared_entity_does(scope, score):
    retriever = NaiveGe(scope, TWO, score=score)
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert 1 in found.indices
    assert set(found.indices) >= {0, 3}
    assert found.answer is None
    assert found.usage.calls == 0


def test_lists_are_fused_by_reciprocal_rank(scope):
    (found,) = NaiveGe(scope, TWO).retrieve([Query(QUESTION)])
    (record,) = found.trace
    assert record["base"] == [0, 3]
    assert record["start"] == [0, 1, 5]
    chains = [[triple["number"] for triple in beam["triples"]] for beam in record["beams"]]
    assert {tuple(chain) for chain in chains} == {(1, 2), (1, 3)}  # 0 and 1 are in the beams already, 5 leads nowhere
    assert record["passages"] == [0, 1]
    wanted = rrf([[0, 1], [0, 3]])
    assert found.indices == tuple(wanted.indices.tolist()) == tuple(record["fused"]) == (0, 1, 3)
    assert found.scores == tuple(wanted.scores.tolist())
    assert record["beams"][0]["triples"][0] == {
        "number": 1,
        "triple": ["Ada Quist", "works for", "Borel foundry"],
        "place": 0,
    }
    assert json.loads(json.dumps(record)) == record


def test_the_graph_leads_from_the_question_over_the_shared_entity(scope):
    (found,) = NaiveGe(scope, TWO).retrieve([Query(QUESTION)])
    assert found.graph.edges == {(ROOT, 0), (0, 1)}


def test_longer_sequences_go_further(scope):
    settings = GearSettings(passages=1, beam=BeamSettings(length=3))
    (found,) = NaiveGe(scope, settings).retrieve([Query(QUESTION)])
    assert set(found.indices) == {0, 1, 2}
    assert found.graph.edges == {(ROOT, 0), (0, 1), (1, 2)}


def test_many_questions_find_what_each_finds_alone(scope):
    questions = [QUESTION, "What lies on the Oxla?", "zzz"] * 30
    together = NaiveGe(scope, TWO).retrieve([Query(question) for question in questions])
    assert len(together) == 90
    for question, found in zip(questions[:3], together[-3:], strict=True):
        (alone,) = NaiveGe(scope, TWO).retrieve([Query(question)])
        assert (found.indices, found.graph, found.trace) == (alone.indices, alone.graph, alone.trace)


def test_no_questions(scope):
    assert NaiveGe(scope).retrieve([]) == []
