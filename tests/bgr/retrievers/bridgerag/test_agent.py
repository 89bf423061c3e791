"""BridgeRAG with a scripted model: every way a run can go."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.bm25 import Bm25Search
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search, pit
from bgr.collection.vectors import DenseSearch
from bgr.graph.evidence_graph import ROOT
from bgr.llm.usage import BudgetError, Usage
from bgr.retrievers.base import Query
from bgr.retrievers.bridgerag.agent import BridgeRag
from bgr.retrievers.bridgerag.steps import PAPER, BridgeSettings
from bgr.retrievers.scope import Scope

QUESTION = "Ada Quist is an engineer who works for a foundry: where did it begin?"
SMALL = BridgeSettings(first=2, queries=2, query_passages=2, kept=3, entity_passages=1, pool=4, top=2)
QUERIES = {"queries": ["the Borel foundry was started in Tamrin", "Tamrin lies on the Oxla"]}
GOOD = {"queries": QUERIES, "entities": "Borel foundry | Tamrin", "judge": lambda text: {"scores": by_length(text)}}


def by_length(text):
    """A judge who likes candidates by their number: 1, 2, 3, …"""
    count = int(text.split("There come ")[-1].split("exactly ")[-1].split()[0])
    return list(range(1, count + 1))


@pytest.fixture
def bridge(script, corpus, dense):
    """``bridge(settings, queries=…, entities=…, judge=…)``: a retriever and its script."""

    def make(settings=SMALL, judge_name="scores", searched=None, over=None, **steps):
        llm = script(**{**GOOD, **steps})
        over = corpus if over is None else over
        searched = dense if searched is None else searched
        return BridgeRag(llm, Scope(over, searched), settings, judge=judge_name), llm

    return make


def record(found, step):
    (one,) = [one for one in found.trace if one["step"] == step]
    return one


def steps(found):
    return [one["step"] for one in found.trace]


def best(dense, text, k):
    return [int(place) for place in dense.search([text], k)[0].indices]


def test_all_six_steps(bridge, dense, corpus):
    retriever, llm = bridge()
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert steps(found) == ["first", "queries", "entities", "pool", "judge", "rank"]
    assert [batch[0].step for batch in llm.batches] == [f"bridgerag.{s}" for s in ("queries", "entities", "judge")]
    assert found.usage == Usage(calls=3, tokens_in=30, tokens_out=3)
    assert found.answer is None
    assert json.loads(json.dumps(found.trace)) == list(found.trace)
    # step 1
    assert [place for place, _ in record(found, "first")["found"]] == best(dense, QUESTION, 2)
    top = record(found, "first")["bridge"]
    assert top == best(dense, QUESTION, 1)[0] == 0
    for batch in llm.batches:
        assert corpus[top].whole in batch[0].messages[0].content
        assert QUESTION in batch[0].messages[0].content
    # steps 2 and 3: each passage with its best cosine, by a slow way
    queries = QUERIES["queries"]
    assert record(found, "queries")["searched"] == queries
    slow = {}
    for query in queries:
        for place, score in zip(*(part.tolist() for part in dense.search([query], 2)[0]), strict=True):
            slow[place] = max(score, slow.get(place, -1))
    kept = sorted(slow.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    assert record(found, "queries")["found"] == [list(pair) for pair in kept]
    assert record(found, "entities")["entities"] == ["Borel foundry", "Tamrin"]
    assert [place for place, _ in record(found, "entities")["found"]] == [0, 1]
    assert [best(dense, name, 1) for name in ("Borel foundry", "Tamrin")] == [[0], [1]]
    # step 4
    union = dict(kept)
    for place, score in [*record(found, "first")["found"], *record(found, "entities")["found"]]:
        union[place] = max(score, union.get(place, -1))
    wanted = sorted(union.items(), key=lambda pair: (-pair[1], pair[0]))[:4]
    pool = record(found, "pool")
    assert list(zip(pool["places"], pool["cosines"], strict=True)) == wanted
    # every candidate has its cosine to the queries, whichever search found it
    everything = {query: dense.search([query], 6)[0] for query in queries}
    for place, svo in zip(pool["places"], pool["svo"], strict=True):
        assert svo == max(hits.scores[hits.indices.tolist().index(place)] for hits in everything.values())


def test_the_final_order_by_hand(bridge):
    (found,) = bridge()[0].retrieve([Query(QUESTION)])
    pool, judge, rank = (record(found, step) for step in ("pool", "judge", "rank"))
    assert judge["scores"] == [1, 2, 3, 4]
    assert rank["pit_judge"] == [0.25, 0.5, 0.75, 1]
    order = np.argsort(np.argsort(pool["svo"])) + 1
    assert rank["pit_svo"] == (order / 4).tolist()
    assert rank["fused"] == pytest.approx([0.9 * n / 4 + 0.1 * s / 4 for n, s in zip((1, 2, 3, 4), order, strict=True)])
    # a place of the judge is .225, all four of the cosine .075: the judge alone decides
    assert list(found.indices) == rank["ranked"] == pool["places"][::-1]
    assert found.scores == tuple(rank["fused"][::-1])
    assert rank["top"] == list(found.indices[:2])


def test_the_graph_leads_from_the_question_by_the_bridge(bridge):
    (found,) = bridge()[0].retrieve([Query(QUESTION)])
    others = set(found.indices[:2]) - {0}
    assert found.graph.edges == {(ROOT, 0)} | {(0, index) for index in others}


def test_conditions_share_the_pool(bridge, corpus):
    from dataclasses import replace

    found, asked = {}, {}
    for condition in ("svo", "plain", "full"):
        retriever, llm = bridge(replace(SMALL, condition=condition))
        (found[condition],) = retriever.retrieve([Query(QUESTION)])
        asked[condition] = [batch[0].messages[0].content for batch in llm.batches]
    assert len({json.dumps(record(one, "pool")) for one in found.values()}) == 1
    assert [one.usage.calls for one in found.values()] == [2, 3, 3]
    assert "judge" not in steps(found["svo"])
    assert found["svo"].scores == tuple(sorted(pit(record(found["svo"], "pool")["svo"]), reverse=True))
    bridge_text = f"First passage:\n{corpus[0].whole}"
    assert bridge_text in asked["full"][2]
    assert "irst passage" not in asked["plain"][2]
    assert asked["plain"][:2] == asked["full"][:2] == asked["svo"]


@pytest.mark.parametrize("reply", [{"queries": ["…"]}, None, "words"], ids=["empty", "nothing", "text"])
def test_without_queries_the_question_is_searched(bridge, dense, reply):
    (found,) = bridge(queries=reply)[0].retrieve([Query(QUESTION)])
    queries = record(found, "queries")
    assert (queries["queries"], queries["searched"]) == ([], [QUESTION])
    assert [place for place, _ in queries["found"]] == best(dense, QUESTION, 2)
    assert queries["failure"] == "the reply holds no query"
    assert found.usage == Usage(calls=3, failed=1, tokens_in=30, tokens_out=3)
    assert record(found, "judge")["scores"] == [1, 2, 3, 4][: len(found.indices)]


def test_one_entity_only(bridge):
    retriever, llm = bridge(entities="Borel foundry")
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert record(found, "entities")["entities"] == ["Borel foundry", ""]
    assert [place for place, _ in record(found, "entities")["found"]] == [0]
    assert found.usage.failed == 0
    assert "to be found next: (not named)" in llm.batches[2][0].messages[0].content


def test_without_entities_the_pool_is_that_of_the_other_searches(bridge, fail):
    (found,) = bridge(entities=fail("no"))[0].retrieve([Query(QUESTION)])
    assert record(found, "entities")["found"] == []
    assert record(found, "entities")["failure"] == "no"
    assert found.usage == Usage(calls=4, failed=1, tokens_in=40, tokens_out=4)
    assert found.indices


@pytest.mark.parametrize("scores", [[1], [1, 2, 3, 4, 5], [1, 2, 3, "x"], [1, 2, 3, None], "1234"])
def test_a_judge_with_other_scores_leaves_the_order_to_the_cosine(bridge, scores):
    (found,) = bridge(judge={"scores": scores})[0].retrieve([Query(QUESTION)])
    assert record(found, "judge")["scores"] is None
    assert record(found, "judge")["failure"] == "the reply holds no list of 4 scores"
    svo = dict(zip(record(found, "pool")["places"], record(found, "pool")["svo"], strict=True))
    assert list(found.indices) == sorted(svo, key=lambda place: (-svo[place], place))
    assert found.usage == Usage(calls=3, failed=1, tokens_in=30, tokens_out=3)


def test_everything_fails_and_there_is_still_a_list(bridge, fail):
    (found,) = bridge(queries=fail("a"), entities=fail("b"), judge=fail("c"))[0].retrieve([Query(QUESTION)])
    assert [one["failure"] for one in found.trace if "failure" in one] == ["a", "b", "c"]
    assert found.usage == Usage(calls=6, failed=3, tokens_in=60, tokens_out=6)
    assert found.indices


def test_a_budget_that_is_used_up_ends_the_run(bridge):
    for step in ("queries", "entities", "judge"):
        with pytest.raises(BudgetError):
            bridge(**{step: BudgetError("budget: used up")})[0].retrieve([Query(QUESTION)])


def test_a_corpus_of_one_passage(bridge, encode):
    corpus = Corpus([Passage("0", "Ada", "an engineer")])
    searched = DenseSearch.of_texts([corpus[0].whole], encode)
    (found,) = bridge(over=corpus, searched=searched)[0].retrieve([Query(QUESTION)])
    assert (found.indices, found.scores, found.graph.edges) == ((0,), (1.0,), {(ROOT, 0)})


class Nothing(Search):
    def __len__(self):
        return 0

    def search_all(self, queries, k):
        return [Hits(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in queries]


def test_an_empty_pool_asks_nobody(bridge):
    retriever, llm = bridge(over=Corpus([]), searched=Nothing())
    (found,) = retriever.retrieve([Query(QUESTION)])
    assert (found.indices, found.usage, found.graph.edges) == ((), Usage(), frozenset())
    assert steps(found) == ["first", "pool", "rank"]
    assert llm.batches == []
    assert retriever.retrieve([]) == []


def test_a_search_without_vectors(bridge, corpus):
    """A passage that no query's search found has no cosine, and counts as lowest."""
    searched = Bm25Search([passage.whole for passage in corpus])
    (found,) = bridge(searched=searched, judge=lambda _: {"scores": [0, 0, 0, 0]})[0].retrieve([Query(QUESTION)])
    pool, rank = record(found, "pool"), record(found, "rank")
    assert None in pool["svo"]
    lowest = [n for n, svo in enumerate(pool["svo"]) if svo is None]
    assert {rank["pit_svo"][n] for n in lowest} == {len(lowest) / 4}
    assert set(found.indices[-len(lowest) :]) == {pool["places"][n] for n in lowest}


def test_questions_go_through_each_step_in_one_batch(bridge, fail):
    def queries(text):
        return fail("no") if "QUICK" in text else QUERIES

    questions = ["QUICK " + QUESTION, QUESTION, "What lies on the Oxla?"]
    retriever, llm = bridge(queries=queries)
    together = retriever.retrieve([Query(question) for question in questions])
    assert [len(batch) for batch in llm.batches] == [3, 3, 3]
    for question, found in zip(questions, together, strict=True):
        (alone,) = bridge(queries=queries)[0].retrieve([Query(question)])
        assert (found.indices, found.scores, found.graph) == (alone.indices, alone.scores, alone.graph)
        assert (found.trace, found.usage) == (alone.trace, alone.usage)
        parts = [Usage(**one["usage"]) for one in found.trace if "usage" in one]
        assert found.usage == sum(parts, Usage())


def test_probability_judge(bridge, first):
    """Yes has 3/4 of what yes and no have for passages of Tamrin, 1/4 for the others."""
    log = np.log([0.3, 0.1]).tolist()

    def judge(text):
        candidate = text.split("Candidate:\n")[1].split("\n\nQuestion:")[0]
        return first(zip((" Yes", "no") if "Tamrin" in candidate else ("no", " Yes"), log, strict=True))

    retriever, llm = bridge(judge_name="probability", judge=judge)
    (found,) = retriever.retrieve([Query(QUESTION)])
    pool = record(found, "pool")["places"]
    assert record(found, "judge")["scores"] == pytest.approx([0.75 if place in (1, 2) else 0.25 for place in pool])
    assert set(found.indices[:2]) == {1, 2}
    assert found.usage == Usage(calls=6, tokens_in=20 + 4 * 5, tokens_out=6)
    (requests,) = llm.batches[2:]
    assert [(one.max_tokens, one.top_logprobs, one.schema) for one in requests] == [(1, 20, None)] * 4


def test_probability_judge_without_probabilities(bridge, first, fail):
    for reply in (first(), first([("maybe", -0.1)]), fail("the server gives no log-probabilities")):
        (found,) = bridge(judge_name="probability", judge=reply)[0].retrieve([Query(QUESTION)])
        failure = record(found, "judge")["failure"]
        assert failure.startswith("4 of 4 candidates: the ")
        assert found.usage.failed == 4
        assert found.scores == tuple(sorted(pit(record(found, "pool")["svo"]), reverse=True))
    with pytest.raises(ValueError, match="allowed: probability, scores"):
        bridge(judge_name="guess")


def test_defaults_are_the_papers():
    assert (PAPER.first, PAPER.queries, PAPER.query_passages, PAPER.kept) == (5, 3, 10, 15)
    assert (PAPER.entity_passages, PAPER.pool, PAPER.alpha, PAPER.top) == (5, 20, 0.10, 5)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["queries", "scores", "e1", "e2"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(ANY, ANY, ANY)
def test_whatever_a_model_says_there_is_a_list(bridge, queries, entities, judge):
    (found,) = bridge(queries=queries, entities=entities, judge=judge)[0].retrieve([Query(QUESTION)])
    assert 0 < len(found.indices) == len(set(found.indices)) <= 4
    assert list(found.scores) == sorted(found.scores, reverse=True)
    parts = [Usage(**one["usage"]) for one in found.trace if "usage" in one]
    assert found.usage == sum(parts, Usage())
    json.dumps(found.trace, allow_nan=False)
