"""NaiveGE: the second hop by a shared entity. SyncGE with a scripted model: every way a reading can go."""

import json
from dataclasses import replace

import pytest

from bgr.collection.bm25 import Bm25Search
from bgr.collection.search import HybridSearch, rrf
from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import DenseSearch
from bgr.graph.evidence_graph import ROOT
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query
from bgr.retrievers.gear.beam import BeamSettings
from bgr.retrievers.gear.steps import GearSettings
from bgr.retrievers.gear.sync import NaiveGe, SyncGe
from bgr.retrievers.scope import Scope

QUESTION = "Where was the employer of Ada Quist, the engineer who works with care, started?"
TWO = GearSettings(passages=2)


def test_the_question_alone_does_not_find_the_second_hop(base):
    assert base.search([QUESTION], 3)[0].indices.tolist() == [0, 3, 4]


@pytest.mark.parametrize("score", ["mean", "text"])
def test_a_shared_entity_does(scope, score):
    retriever = NaiveGe(scope, replace(TWO, score=score))
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


def test_many_questions_of_naive_ge_find_what_each_finds_alone(scope):
    questions = [QUESTION, "What lies on the Oxla?", "zzz"] * 30
    together = NaiveGe(scope, TWO).retrieve([Query(question) for question in questions])
    assert len(together) == 90
    for question, found in zip(questions[:3], together[-3:], strict=True):
        (alone,) = NaiveGe(scope, TWO).retrieve([Query(question)])
        assert (found.indices, found.graph, found.trace) == (alone.indices, alone.graph, alone.trace)


@pytest.fixture
def sync(script, scope):
    """``sync(read)``: a retriever, and its script, whose reading is what `read` gives for a prompt."""

    def make(read, settings=TWO):
        llm = script(read=read)
        return SyncGe(llm, scope, settings), llm

    return make


def test_facts_are_linked_and_expanded(sync):
    retriever, _ = sync(lambda _: {"facts": [["Ada Quist", "is employed: works for", "the Borel foundry"]]})
    (found,) = retriever.retrieve([Query(QUESTION)])
    read, expand = found.trace
    assert read["facts"] == [["Ada Quist", "is employed: works for", "the Borel foundry"]]
    assert [link["number"] for link in read["linked"]] == [1]
    assert (read["start"], expand["start"], read["failure"]) == ("linked", [1], None)
    chains = {tuple(triple["number"] for triple in beam["triples"]) for beam in expand["beams"]}
    assert chains == {(1, 0), (1, 2), (1, 3)}
    assert found.indices == tuple(rrf([expand["passages"], [0, 3]]).indices.tolist())
    assert found.graph.edges == {(ROOT, 0), (0, 1)}
    assert found.usage == Usage(calls=1, tokens_in=10, tokens_out=1)
    assert json.loads(json.dumps(found.trace)) == list(found.trace)


def test_the_model_reads_the_base_passages_and_the_question(sync, corpus):
    retriever, llm = sync(lambda _: {"facts": []})
    retriever.retrieve([Query(QUESTION)])
    ((request,),) = llm.batches
    text = request.messages[0].content
    assert (request.step, request.temperature) == ("gear.read", 0.0)
    assert QUESTION in text
    assert [passage.whole in text for passage in corpus] == [True, False, False, True, False, False]


@pytest.mark.parametrize(
    ("reading", "failed"),
    [("not JSON", 1), ({"facts": []}, 0), ({"facts": [["Ada Quist", "", ""]]}, 0)],
    ids=["malformed", "no facts", "one entity only"],
)
def test_without_facts_it_starts_as_naive_ge_does(sync, scope, reading, failed):
    (found,) = sync(lambda _: reading)[0].retrieve([Query(QUESTION)])
    (naive,) = NaiveGe(scope, TWO).retrieve([Query(QUESTION)])
    assert (found.indices, found.scores, found.graph) == (naive.indices, naive.scores, naive.graph)
    assert found.trace[0]["start"] == "base"
    assert found.trace[1] == naive.trace[0]
    assert found.usage.failed == failed
    assert bool(found.trace[0]["failure"]) == bool(failed)


def test_two_facts_of_one_triple_start_once(sync):
    facts = [["Tamrin", "lies on", "Oxla"], ["Tamrin", "is on", "Oxla"]]
    (found,) = sync(lambda _: {"facts": facts})[0].retrieve([Query(QUESTION)])
    assert [link["number"] for link in found.trace[0]["linked"]] == [4, 4]
    assert found.trace[1]["start"] == [4]


def test_questions_share_one_batch_and_nothing_else(sync):
    def read(text):
        return "broken" if "Oxla?" in text else {"facts": [["Ada Quist", "works for", "Borel foundry"]]}

    retriever, llm = sync(read)
    good, bad = retriever.retrieve([Query(QUESTION), Query("What lies on the Oxla?")])
    assert len(llm.batches) == 1
    assert (good.usage.failed, bad.usage.failed) == (0, 1)
    assert good.trace[0]["start"] == "linked"
    assert bad.trace[0]["start"] == "base"
    assert good.indices == sync(read)[0].retrieve([Query(QUESTION)])[0].indices


def test_no_questions(sync, scope):
    assert sync(lambda _: {"facts": []})[0].retrieve([]) == NaiveGe(scope).retrieve([]) == []


@pytest.mark.parametrize(("search", "kind"), [("bm25", HybridSearch), ("dense", TripleIndex), ("hybrid", HybridSearch)])
def test_facts_are_linked_by_the_base_search(corpus, index, encode, script, search, kind):
    """Equation 2: with words alone, a fact is linked to the triple that shares a rare word with it, whatever its
    vector; one that shares none is not linked."""
    texts = [passage.whole for passage in corpus]
    searches = {"bm25": Bm25Search(texts), "dense": DenseSearch.of_texts(texts, encode)}
    base = HybridSearch(list(searches.values())) if search == "hybrid" else searches[search]
    scope = Scope(corpus, base, index)
    assert type(scope.triples_by("base")) is kind
    assert scope.triples_by("dense") is index
    facts = {"facts": [["foundry smith", "of", "Borel"], ["xyzzy", "of", "qwert"]]}
    model = script(read=facts)
    (found,) = SyncGe(model, scope, GearSettings(passages=2, link="base")).retrieve([Query(QUESTION)])
    linked = [row["number"] for row in found.trace[0]["linked"]]
    assert linked[0] == 3
    assert len(linked) == (1 if search == "bm25" else 2)
