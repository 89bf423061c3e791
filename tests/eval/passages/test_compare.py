"""Scores, tests and tables against hand-counted cases and a slow recomputation."""

import csv
import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bgr.errors import BgrError
from bgr.llm.usage import Usage
from eval.compare.passages import compare_passages
from eval.report.document import without_intervals
from eval.report.passages import (
    as_document,
    as_json,
    groups_table,
    pairs_table,
    rounds_table,
    systems_table,
    write_passages,
)
from eval.run.passage_scores import KS, METRICS, by_group, by_round, mean, score
from eval.run.run_system import ResultLog, System, run_system
from eval.run.significance import CHUNK, sign_test

SAMPLES = CHUNK + 100


@pytest.fixture
def scores(tmp_path, data, good, poor, scripted):
    """``scores(name=retriever)``."""

    def make(**retrievers):
        with ResultLog(tmp_path / "r.jsonl") as log:
            return [
                score(name, run_system(System(name, {}, lambda one=one: one), data, log), data)
                for name, one in retrievers.items()
            ]

    return make


@pytest.fixture
def both(scores, data, good, poor, scripted):
    usage = Usage(calls=2, failed=1, tokens_in=100, tokens_out=10)
    answers = {"one?": "The Crimson!", "three?": "green tea"}
    systems = scores(poor=scripted(poor), good=scripted(good, answers=answers, usage=usage))
    return compare_passages(systems, data, {"file": "mini.json"}, samples=SAMPLES, seed=3)


def test_scores_by_hand(both):
    poor, good = both.systems
    assert good.scores["R@2"][:3].tolist() == [1, 1, 0.5]
    assert poor.scores["R@2"][:3].tolist() == [0.5, 0, 0.5]
    assert poor.scores["R@5"][:3].tolist() == [1, 1, 0.5]  # a list that is shorter than k counts as it is
    assert all(math.isnan(good.scores[metric][3]) for metric in METRICS[:7])
    assert good.scores["QA EM"][:3].tolist() == [1, 0, 0]
    assert good.scores["QA F1"][:3].tolist() == [1, 0, pytest.approx(2 / 3)]
    assert "QA EM" not in poor.scores  # it answered nothing


def test_sign_test_by_hand():
    first = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.5])
    second = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9, 0.5])
    found = sign_test(first, second)
    # 8 better, 1 worse: 2 · (C(9,0) + C(9,1)) / 2^9
    assert (found.better, found.worse, found.equal, found.p) == (8, 1, 1, pytest.approx(2 * (1 + 9) / 512))
    assert sign_test(second, first).p == pytest.approx(found.p)
    assert sign_test(first, first).p == 1.0
    assert sign_test(np.array([0.1 + 0.2]), np.array([0.3])).equal == 1
    assert sign_test(np.ones(6), np.zeros(6)).p == pytest.approx(2 / 64)


def test_fewer_edits_are_better(both, data):
    """GED counts edits; of all other metrics more is better."""
    poor = replace(both.systems[0], scores={"GED": np.array([3.0, 2, 1, 4]), "GM": np.array([0.0, 0, 1, 0])})
    good = replace(both.systems[1], scores={"GED": np.array([0.0, 2, 2, 1]), "GM": np.array([1.0, 0, 0, 1])})
    pairs = {pair.metric: pair for pair in compare_passages([poor, good], data, {}, samples=100).pairs}
    assert pairs["GED"].difference.interval.mean == -1.25
    for metric in ("GED", "GM"):
        signs = pairs[metric].signs
        assert (pairs[metric].first, signs.better, signs.worse, signs.equal) == ("good", 2, 1, 1)


def slow_interval(values, seed):
    """Mean and percentiles, one sample after the other."""
    rng, means = np.random.default_rng(seed), []
    for first in range(0, SAMPLES, CHUNK):
        for drawn in rng.integers(len(values), size=(min(CHUNK, SAMPLES - first), len(values))):
            means.append(sum(values[question] for question in drawn) / len(values))
    return [sum(values) / len(values), *np.percentile(means, [2.5, 97.5])], means


def slow_recall(data, lists, k):
    """Of the questions with gold, one after the other."""
    found = []
    for question in data.questions:
        needed = len(question.gold) + question.missing
        if needed:
            ids = [data.corpus[place].id for place in lists[question.question][:k]]
            found.append(len(set(ids) & set(question.gold)) / needed)
    return found


def test_tables_equal_a_slow_recomputation(both, data, good, poor):
    lists = {"good": good, "poor": poor}
    table = systems_table(both)
    header, rows = table.header, table.rows
    for row, (column, k) in product(rows, enumerate(KS, 1)):
        values = slow_recall(data, lists[row[0]], k)
        (mean, low, high), _ = slow_interval(values, 3)
        assert header[column] == f"R@{k}"
        assert row[column] == f"{100 * mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    for k in KS:
        ((first, second, delta, p, *counts, p_signs),) = pairs_table(both, f"R@{k}").rows
        assert (first, second) == ("good", "poor")  # the later minus the earlier
        differences = [a - b for a, b in zip(slow_recall(data, good, k), slow_recall(data, poor, k), strict=True)]
        (mean, low, high), means = slow_interval(differences, 3)
        assert delta == f"{100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        share = min(sum(m <= 1e-12 for m in means), sum(m >= -1e-12 for m in means))
        assert p == f"{min(1, 2 * (share + 1) / (SAMPLES + 1)):.3f}"
        signs = [sum(d > 0 for d in differences), sum(d < 0 for d in differences), sum(d == 0 for d in differences)]
        assert counts == [str(count) for count in signs]
        assert p_signs == {2: "0.500", 5: "1.000", 10: "1.000", 15: "1.000"}[k]


def test_usage_columns(both):
    table = without_intervals(systems_table(both))
    header, rows = table.header, table.rows
    good = dict(zip(header, rows[1], strict=True))
    assert good["R@2"] == "83.3"
    assert (good["calls"], good["cached"], good["tokens in"], good["tokens out"]) == ("2.0", "0.0", "100", "10")
    assert (good["failed"], good["n"], good["s/question"]) == ("4", "4", "0.5000")
    assert (good["QA EM"], good["QA F1"]) == ("33.3", "55.6")
    assert dict(zip(header, rows[0], strict=True))["QA EM"] == "–"


def test_seconds_are_those_without_a_cache(scores, data, scripted):
    class Cached(scripted):
        def retrieve(self, queries):
            from dataclasses import replace

            usage = Usage(calls=1, cached=2, seconds=0.5, seconds_saved=3.0)
            return [replace(one, usage=usage, seconds=0.75) for one in super().retrieve(queries)]

    (system,) = scores(r=Cached({q.question: [0] for q in data.questions}))
    assert system.seconds == 3.75


def test_groups(both, data):
    found = by_group(both.systems[1], data, "kind")
    assert list(found) == ["bridge", "null", "single"]
    assert (found["bridge"]["n"], found["bridge"]["R@2"], found["single"]["R@2"]) == (2, 0.75, 1)
    assert math.isnan(found["null"]["R@2"])
    table = groups_table(both, "hops", "R@2")
    header, rows = table.header, table.rows
    assert header == ["system", "0", "1", "2"]
    assert rows == [["poor", "–", "0.0", "50.0"], ["good", "–", "100.0", "75.0"], ["n", "1", "1", "2"]]


def test_rounds(scores, data, scripted):
    """q1 stops after its first round; the others find theirs in the second, or not."""

    class Rounds(scripted):
        def retrieve(self, queries):
            from dataclasses import replace

            usage = {"calls": 1, "cached": 1, "tokens_in": 40, "tokens_out": 2}
            one = [{"round": 1, "step": "read", "usage": usage}, {"round": 1, "step": "expand", "fused": [0, 1]}]
            two = [*one, {"round": 2, "step": "expand", "fused": [2], "usage": usage}, {"step": "link"}]
            return [
                replace(result, trace=tuple(one if query.question == "one?" else two))
                for query, result in zip(queries, super().retrieve(queries), strict=True)
            ]

    (system,) = scores(r=Rounds({q.question: [0] for q in data.questions}))
    first, second = by_round(system, data)
    assert (first["round"], first["n"], first["calls"], first["tokens"]) == (1, 4, 2, 42)
    assert (second["n"], second["calls"], second["tokens"]) == (3, (2 + 4 + 4 + 4) / 4, (42 + 84 * 3) / 4)
    assert first["R@2"] == pytest.approx((1 + 0 + 0) / 3)
    # 0 and 2 are first in their lists and tie, then 1: by place 0, 2, 1
    assert second["R@2"] == pytest.approx((1 + 1 + 0) / 3)
    found = compare_passages([system], data, {}, samples=10)
    assert rounds_table(found).rows[1][:4] == ["r", "2", "3", "66.7"]
    assert "## By round" in as_document(found).as_markdown()


def test_rounds_of_sets_count_what_came_before_and_end_as_the_whole(scores, data, scripted):
    """In PRISM's traces round 0 calls the model too, and the result is the union of the rounds in order."""
    usage = {"calls": 1, "cached": 0, "tokens_in": 40, "tokens_out": 2}
    trace = [{"step": "draft", "round": 0, "usage": usage}]
    for number, fused in enumerate(([3, 2, 1], [0, 1], []), 1):
        trace += [
            {"step": "adder", "round": number, "usage": usage},
            {"step": "round", "round": number, "fused": fused},
        ]
    trace += [{"step": "merge"}, {"step": "answer", "usage": usage}]
    (system,) = scores(p=scripted({q.question: [3, 2, 1, 0] for q in data.questions}, trace=trace))
    rows = by_round(system, data)
    assert [(row["calls"], row["tokens"], row["n"]) for row in rows] == [(2, 84, 4), (3, 126, 4), (4, 168, 4)]
    assert [rows[0]["R@5"], rows[1]["R@5"]] == pytest.approx([(1 / 2 + 1 + 1 / 2) / 3, (1 + 1 + 1 / 2) / 3])
    for metric in ("R@2", "R@5"):
        assert rows[-1][metric] == mean(system.scores[metric])


def test_rounds_within_the_passages_of_each_question(scores, data, scripted):
    """A trace numbers the passages that were searched: those of the question."""
    contexts = (("p9", "p1", "p0"), ("p2",), ("p4", "p3"), ())
    own = replace(data, questions=tuple(replace(q, context=c) for q, c in zip(data.questions, contexts, strict=True)))
    (system,) = scores(s=scripted({q.question: [0] for q in data.questions}, trace=[{"round": 1, "fused": [2, 1]}]))
    (row,) = by_round(system, own, within=True)
    assert row["R@2"] == pytest.approx((1 + 0 + 1 / 2) / 3)
    found = compare_passages([system], own, {"scope": "question"}, samples=10)
    assert rounds_table(found).rows[0][3] == "50.0"
    assert by_round(system, own)[0]["R@2"] == pytest.approx((1 / 2 + 1 + 0) / 3)


def test_damaged_traces_have_no_rounds(scores, data, good, scripted):
    trace = [{"round": "1", "fused": [0]}, {"round": True}, {"fused": [1]}]
    (system,) = scores(s=scripted(good, trace=trace))
    assert by_round(system, data) == []
    (system,) = scores(t=scripted(good, trace=[{"round": 1, "fused": [99]}]))
    assert by_round(system, data)[0]["R@15"] == 0


def test_files(both, tmp_path, data):
    out = tmp_path / "out"
    out.mkdir()
    write_passages(out, both)
    names = ("passages.md", "passages.json", "systems.csv", "pairs.csv", "groups.csv", "rounds.csv")
    names += ("recall.png", "pareto.png", "traces.html")
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    found = json.loads((out / "passages.json").read_text())
    assert found == json.loads(json.dumps(as_json(both)))
    assert found["systems"]["good"]["R@2"]["mean"] == pytest.approx(2.5 / 3)
    assert found["systems"]["good"]["by"]["kind"]["null"]["R@2"] is None
    assert (found["about"]["gold_passages"], found["about"]["gold_passages_not_in_corpus"]) == (5, 1)
    assert (found["about"]["questions_without_gold"], found["about"]["seed"]) == (1, 3)
    for name in ("systems", "pairs", "groups"):
        rows = list(csv.DictReader((out / f"{name}.csv").open(newline="")))
        assert all(row["corpus_hash"] == data.corpus.hash and row["passages"] == "10" for row in rows), name
    assert (out / "recall.png").read_bytes().startswith(b"\x89PNG")
    text = (out / "passages.md").read_text()
    tables = text.count("\n| --- |")
    assert tables == 2 + 5 + 2 * 6  # R@k, F1 and QA EM; the last has no pair: one system alone answered
    assert text.count(data.corpus.hash[:12] + "…") == 5  # systems, cost, differences, by hops and by kind
    assert "of which the corpus lacks 1" in text


def test_contradictions(scores, data, good, scripted):
    from dataclasses import replace

    (system,) = scores(s=scripted(good))
    with pytest.raises(BgrError, match="two systems have the name 's'"):
        compare_passages([system, system], data, {}, samples=10)
    bare = replace(data, questions=data.questions[3:])
    with pytest.raises(BgrError, match="no question has a gold passage"):
        compare_passages([score("s", system.found[3:], bare)], bare, {}, samples=10)


def test_a_reader_that_always_fails_scores_nothing_right(scores, data, good, scripted):
    """A dash would hide it."""
    failed, silent = scores(r=scripted(good, trace=[{"step": "answer", "failure": "no JSON"}]), s=scripted(good))
    assert failed.scores["QA EM"][:3].tolist() == failed.scores["QA F1"][:3].tolist() == [0, 0, 0]
    assert math.isnan(failed.scores["QA EM"][3])  # nobody knows the answer
    assert "QA EM" not in silent.scores
