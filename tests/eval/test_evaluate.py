"""Scoring: perfect and imperfect systems, means against plain loops, errors."""

import random
from statistics import mean

import pytest

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.ged import graph_edit_distance
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts
from eval.run.breakdown import GROUPINGS, breakdown, hops_by_chains
from eval.run.evaluate import METRICS, Predictions, evaluate, query_of


def score(examples, results, seconds=None, **options):
    return evaluate({"s": Predictions(results, seconds)}, examples, **options)[0]


def test_gold_scores_perfectly(examples):
    done = score(examples, [RetrievalResult(example.graph) for example in examples])
    perfect = {"gm": 1, "gs": 1, "ged": 0, "ged_labelled": 0, "f1": 1, "precision": 1, "recall": 1, "em": 1}
    assert {metric: done.mean[metric] for metric in METRICS} == perfect
    assert done.mean["n"] == len(examples)
    assert done.mean["ged_not_exact"] == done.mean["limits_reached"] == 0
    assert "seconds_per_question" not in done.mean


def test_nothing_retrieved_scores_nothing(examples):
    done = score(examples, [RetrievalResult(EvidenceGraph())] * len(examples))
    assert all(done.mean[metric] == 0 for metric in ("gm", "gs", "f1", "precision", "recall", "em"))
    sizes = [len(example.graph.nodes) + len(example.graph.edges) for example in examples]
    assert done.mean["ged"] == done.mean["ged_labelled"] == mean(sizes)


def test_rows_describe_gold_and_keep_the_order(examples, imperfect):
    rows = score(examples, imperfect).rows
    assert [row.id for row in rows] == [example.id for example in examples]
    for row, example, result in zip(rows, examples, imperfect, strict=True):
        assert (row.type, row.structure) == (example.type, example.graph.structure)
        assert (row.hops, row.chains, row.facts) == (example.graph.hops, example.graph.chains, len(example.graph.nodes))
        assert row.gm == (result.graph == example.graph)
        assert row.ged == graph_edit_distance(result.graph, example.graph).upper
        assert row.f1 == row.em == 1  # all gold facts, some in the wrong places
        assert row.limits == result.limits
    assert 0 < sum(row.gm for row in rows) < len(rows)


def test_means_equal_a_plain_loop(examples, imperfect):
    done = score(examples, imperfect, seconds=3.0)
    for metric in METRICS:
        total = 0.0
        for row in done.rows:
            total += float(getattr(row, metric))
        assert done.mean[metric] == pytest.approx(total / 30)
    assert done.mean["limits_reached"] == 15
    assert done.mean["seconds_per_question"] == pytest.approx(0.1)


def test_retrievers_and_predictions_side_by_side(examples, imperfect):
    done = evaluate(
        {"random": RandomFacts(seed=1), "bm25": Bm25Facts(), "given": Predictions(imperfect, 2.0)}, examples
    )
    assert [evaluation.name for evaluation in done] == ["random", "bm25", "given"]
    assert done[1].results == Bm25Facts().retrieve([query_of(example) for example in examples])
    assert done[2].mean == score(examples, imperfect, seconds=2.0).mean
    assert all(0 <= evaluation.mean["seconds_per_question"] < 1 for evaluation in done)
    # k is the number of gold facts, so what is missed equals what is wrong
    assert done[0].mean["precision"] == done[0].mean["recall"] < 1


def test_more_questions_than_one_chunk(examples):
    many = examples * 5
    done = evaluate({"bm25": Bm25Facts()}, many)[0]
    assert done.results == Bm25Facts().retrieve([query_of(example) for example in many])


def test_a_distance_out_of_time_is_counted_and_bounded():
    rng = random.Random(0)
    examples, results = [], []
    for number in range(6):
        for into in (examples, results):
            nodes = rng.sample(range(14), 12)
            edges = [(rng.choice([ROOT, *nodes[:place]]), node) for place, node in enumerate(nodes)]
            into.append(EvidenceGraph(edges))
        examples[-1] = Example(str(number), "q", ("f",) * 14, examples[-1], "", (), "query")
        results[-1] = RetrievalResult(results[-1])
    cut = score(examples, results, ged_seconds=0.0).mean
    full = score(examples, results, ged_seconds=None).mean
    assert cut["ged_labelled_not_exact"] > 0 == full["ged_labelled_not_exact"]
    assert cut["ged_labelled_lower"] <= full["ged_labelled"] == full["ged_labelled_lower"] <= cut["ged_labelled"]


def test_released_distance_is_an_option(examples, imperfect):
    plain, asked = (score(examples[:6], imperfect[:6], released_ged=flag) for flag in (False, True))
    assert "ged_released" not in plain.mean
    assert 0 < asked.mean["ged_released"] <= asked.mean["ged"]


def test_errors_say_what_does_not_fit(examples, imperfect):
    with pytest.raises(BgrError, match="'s': 29 results for 30 examples"):
        score(examples, imperfect[:-1])
    with pytest.raises(DataError, match="no examples"):
        score([], [])
    with pytest.raises(BgrError, match="'q0': fact 6 was retrieved, there are 6"):
        score(examples[:1], [RetrievalResult(EvidenceGraph([(ROOT, 6)]))])


@pytest.mark.parametrize("by", GROUPINGS)
def test_breakdowns_add_up(examples, imperfect, by):
    done = score(examples, imperfect)
    groups = breakdown(done, by)
    assert sum(mean["n"] for mean in groups.values()) == len(examples)
    for metric in METRICS:
        whole = sum(mean["n"] * mean[metric] for mean in groups.values()) / len(examples)
        assert whole == pytest.approx(done.mean[metric])


def test_breakdowns_are_in_order_and_by_gold(examples, imperfect):
    done = score(examples, imperfect)
    assert list(breakdown(done, "structure")) == ["SC-SH", "SC-MH", "MC-SH", "MC-MH"]
    assert list(breakdown(done, "type")) == ["query", "comparison", "count", "boolean", "qualifier"]
    assert list(breakdown(done, "hops")) == ["1", "2", "3"]
    single = [row for row in done.rows if row.structure == "SC-SH"]
    assert breakdown(done, "structure")["SC-SH"]["gm"] == mean(row.gm for row in single)
    with pytest.raises(BgrError, match="'colour', known: type, structure"):
        breakdown(done, "colour")


def test_hops_by_chains(examples, imperfect):
    done = score(examples, imperfect)
    cells = hops_by_chains(done)
    assert list(cells) == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]
    assert all(mean["n"] == 6 for mean in cells.values())
