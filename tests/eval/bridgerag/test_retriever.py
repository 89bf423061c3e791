"""All experiments of a question at once, kept in its trace, and read back."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bgr.errors import DataError
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query
from eval.ablations.bridgerag import AblationRetriever, gold_indices, lowest, negative, spread
from eval.ablations.bridgerag_report import VARIANTS, Judged
from eval.run.question_result import QuestionResult


@pytest.fixture
def found(data, dense, method):
    """The results of both questions, as they come back from a file."""
    ids = [passage.id for passage in data.corpus]
    results = AblationRetriever(method, gold_indices(data)).retrieve([Query(q.question) for q in data.questions])
    kept = [
        QuestionResult.of(question.id, one, ids).to_json()
        for question, one in zip(data.questions, results, strict=True)
    ]
    return [QuestionResult.from_json(json.loads(json.dumps(one))) for one in kept]


def test_one_pool_and_five_judges(data, method, found):
    steps = [step["step"] for step in found[0].trace]
    assert steps == ["first", "queries", "entities", "pool", *["judge"] * 5, "near"]
    assert [step["variant"] for step in found[0].trace if step["step"] == "judge"] == list(VARIANTS)
    assert found[0].usage == Usage(calls=7, tokens_in=70, tokens_out=7)
    batches = method.llm.batches
    assert [len(batch) for batch in batches] == [2, 2, 10]
    plain, full, text, low, wrong = (request.messages[0].content for request in batches[2][:5])
    (pool,) = method.pools([data.questions[0].question], [method.scope])
    passages = data.corpus
    assert pool.bridge == 0
    for prompt, bridge in (
        (full, passages[0].whole),
        (text, "the Borel foundry was started in Tamrin\nTamrin lies on the Oxla"),
        (low, passages[lowest(pool)].whole),
        (wrong, passages[negative(pool, (0, 1))].whole),
    ):
        assert f"First passage:\n{bridge}\n\nCandidates:" in prompt
        assert prompt.replace(bridge, passages[0].whole) == full.replace(bridge, passages[0].whole)
    assert "irst passage" not in plain


def test_what_stands_for_the_bridge(method, data):
    (pool,) = method.pools([data.questions[0].question], [method.scope])
    by_cosine = sorted((svo, place) for svo, place in zip(pool.svo, pool.indices, strict=True) if place != pool.bridge)
    assert lowest(pool) == by_cosine[0][1]
    assert lowest(replace(pool, svo=(*pool.svo[:-1], None))) == (
        pool.indices[-1] if pool.indices[-1] != pool.bridge else by_cosine[0][1]
    )
    first = [place for place, _ in pool.trace[0]["found"]]
    assert first[0] == pool.bridge
    assert negative(pool, ()) == first[1]
    others = [place for place in pool.indices if place not in first]
    assert negative(pool, first) == others[0]
    assert negative(pool, range(6)) is None
    alone = replace(pool, indices=(0,), svo=(0.5,))
    assert lowest(alone) is None


def test_read_back(data, method, dense, found):
    one, two = (Judged.of(question, kept, data) for question, kept in zip(data.questions, found, strict=True))
    assert list(one.scores) == list(VARIANTS)
    assert one.scores["full"] == (1, 2, 3, 4)
    assert one.ranked("full", 0.1) == list(found[0].passages)
    assert one.usage["svo"] == Usage(calls=2, tokens_in=20, tokens_out=2)
    assert one.usage["plain"] == Usage(calls=1, tokens_in=10, tokens_out=1)
    vectors = dense.vectors.take(np.arange(6)).astype(np.float64)
    assert one.proximity == pytest.approx(vectors[0] @ vectors[1])  # the bridge is gold itself: the other one counts
    assert two.question.gold == (data.corpus[found[1].trace[0]["bridge"]].id,)
    assert math.isnan(two.proximity)  # the bridge is all that is needed
    pairs = [(a, b) for a in one.places for b in one.places if a != b]
    assert one.spread == pytest.approx(np.mean([1 - vectors[a] @ vectors[b] for a, b in pairs]))
    assert spread(vectors[:1]) is None


def test_failed_judges_are_none(data, dense, method):
    method.llm.judge = {"scores": [1]}
    ids = [passage.id for passage in data.corpus]
    results = AblationRetriever(method, gold_indices(data)).retrieve([Query(data.questions[0].question)])
    assert results[0].usage == Usage(calls=7, failed=5, tokens_in=70, tokens_out=7)
    one = Judged.of(data.questions[0], QuestionResult.of(data.questions[0].id, results[0], ids), data)
    assert set(one.scores.values()) == {None}
    assert one.ranked("full", 0.1) == one.ranked("svo", 0.1)


def test_traces_that_are_none(data, found):
    question = data.questions[0]
    trace = list(found[0].trace)
    for wrong in (
        [],
        trace[:-1],
        [*trace[:3], {**trace[3], "svo": [1]}, *trace[4:]],
        [*trace[:3], {**trace[3], "places": [99] * 4}, *trace[4:]],
        [*trace[:4], {**trace[4], "scores": "abcd"}, *trace[5:]],
        [*trace[:4], {**trace[4], "usage": {"x": 1}}, *trace[5:]],
        [*trace[:3], {"step": "pool"}, *trace[4:]],
        [*trace[:4], {**trace[4], "usage": {"calls": "1"}}, *trace[5:]],
        [*trace[:4], {**trace[4], "scores": [float("nan")] * 4}, *trace[5:]],
    ):
        with pytest.raises(DataError, match="result of q1: no trace of BridgeRAG's experiments") as caught:
            Judged.of(question, replace(found[0], trace=tuple(wrong)), data)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="made with other gold passages"):
        Judged.of(replace(question, gold=("p5",)), found[0], data)
