"""Scores, rounds, errors, tables and files of PRISM, by hand."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from bgr.errors import DataError
from bgr.retrievers.prism.run import PAPER
from eval.ablations.prism_report import (
    CONTEXTS,
    VARIANTS,
    answers_table,
    as_document,
    as_json,
    cost_table,
    errors_table,
    evidence_table,
    longest_run,
    match_table,
    rounds_table,
    write_prism,
)
from eval.ablations.prism_score import (
    by_rounds,
    error_shares,
    evidence_after,
    recall_against_answers,
    score_variant,
    set_row,
)
from eval.compare.passages import describe
from eval.run.question_result import QuestionResult


@pytest.fixture
def scored(found, data):
    return score_variant("prism", found, data)


def test_sets():
    assert set_row("PRF", ["a", "b", "c"], ["b", "d"]) == {"P": 1 / 3, "R": 1 / 2, "F": 2 / 5}
    assert set_row("PRF", ["a"], ["a"], missing=1)["R"] == 1 / 2
    assert set(set_row("PRF", [], [], missing=1).values()) == {0}
    assert all(map(math.isnan, set_row("PRF", ["a"], []).values()))


def test_scores(scored):
    wanted = {
        # p0, p1 of p0, p1; p4, p2 of p2 and one that is missing; nothing of p3
        "passage_precision": [1, 1 / 2, 0],
        "passage_recall": [1, 1 / 2, 0],
        "passage_f1": [1, 1 / 2, 0],
        # p0.0, p1.0 of p0.0, p1.1; p4.0, p2.0 of p2.0; no gold sentences
        "fact_precision": [1 / 2, 1 / 2, math.nan],
        "fact_recall": [1 / 2, 1, math.nan],
        "fact_f1": [1 / 2, 2 / 3, math.nan],
        "em": [1, 0, 0],
        "f1": [1, 2 / 3, 0],
        "pma": [1, 1, 0],
        "passages": [2, 2, 0],
        "sentences": [2, 2, 0],
        "sentences_left": [1 / 4, 1 / 2, 0],
        "words_left": [1 / 4, 3 / 4, 0],
        "hallucinated": [3, 0, 0],
    }
    assert scored.scores.keys() == wanted.keys()
    for metric, values in wanted.items():
        np.testing.assert_allclose(scored.scores[metric], values, err_msg=metric)
    assert scored.mean("fact_recall") == 3 / 4
    assert scored.mean("em") == pytest.approx(1 / 3)


def test_rounds(scored, found, data):
    assert evidence_after(found[1], data, 1) == [("p4", 0), ("p2", 0)]
    assert evidence_after(found[0], data, 2) == [("p0", 0), ("p1", 0)]
    first, second = by_rounds(scored, data)
    assert (first["passage_recall"], first["passage_precision"]) == ((1 / 2 + 1 / 2) / 3, (1 + 1 / 2) / 3)
    assert (first["fact_recall"], first["sentences"]) == ((1 / 2 + 1) / 2, 1)
    assert (first["calls"], first["tokens"]) == (3, 33)  # one for the analysis, two in a round
    assert (second["calls"], second["rounds"]) == (5, 2)
    for metric in ("passage_precision", "passage_recall", "fact_f1", "passages", "sentences"):
        assert second[metric] == pytest.approx(scored.mean(metric))  # the last is the whole run
    assert by_rounds(score_variant("bare", [QuestionResult(one.id, (), ()) for one in found], data), data) == []


@pytest.mark.parametrize(
    "step",
    [
        {"step": "round"},
        {"step": "round", "round": "1"},
        {"step": "round", "round": 7, "evidence": []},
        {"step": "round", "round": 1, "evidence": [[0]]},
        {"step": "round", "round": 1, "evidence": [[99, 0]]},
        {"step": "round", "round": 1, "evidence": [["0", []]]},
        {"step": "adder", "round": "x", "usage": {}},
        {"step": "adder", "round": 0, "usage": {"calls": "two"}},
        {"step": "adder", "round": 0, "usage": ["calls"]},
        {"step": "answer", "usage": {}},
        {"step": "merge", "sizes": {"candidates": {"words": 3}}},
        {"step": "merge", "sizes": None},
        {"step": "merge", "hallucinated": "none"},
    ],
)
def test_a_damaged_trace_is_said_in_one_line(step, data):
    with pytest.raises(DataError, match=r"^result of q1: no trace of PRISM \(.*; give another --out, or --overwrite$"):
        score_variant("prism", [QuestionResult("q1", (), (), trace=(step,))], data.first(1))


def test_errors(scored, data):
    by_kind = error_shares(scored, data, "kind")
    assert by_kind["all"] == {"n": 3, "bridge": 2 / 3, "comparison": 1 / 3}
    assert by_kind["recall < 1"] == by_kind["answer wrong"] == {"n": 2, "bridge": 1 / 2, "comparison": 1 / 2}
    assert error_shares(scored, data, "hops")["recall < 1"] == {"n": 2, "2": 1 / 2, "3": 1 / 2}


def test_recall_against_answers(found, data):
    # recall 1, 1/2, 0; right, wrong, wrong
    table = recall_against_answers(score_variant("prism", found, data))
    assert table == {
        "complete": 1,
        "incomplete": 2,
        "wrong": 2,
        "wrong_at_complete": 0,
        "right_at_incomplete": 0,
        "complete_of_wrong": 0,
    }
    turned = [
        QuestionResult(**{**vars(one), "answer": answer})
        for one, answer in zip(found, ("no", "blue sky", None), strict=True)
    ]
    table = recall_against_answers(score_variant("prism", turned, data))
    assert (table["wrong_at_complete"], table["right_at_incomplete"], table["complete_of_wrong"]) == (1, 1 / 2, 1 / 2)


def test_nothing_wrong_is_no_number(found, data):
    right = [QuestionResult(**{**vars(found[0]), "id": "q1"})]
    scores = score_variant("prism", right, data.first(1))
    assert math.isnan(recall_against_answers(scores)["right_at_incomplete"])
    assert math.isnan(error_shares(scores, data.first(1), "kind")["answer wrong"]["bridge"])
    assert errors_table(scores, data.first(1), "kind").rows[2] == ["answer wrong", "–", "0"]


def test_tables(scored, data):
    context = score_variant("oracle", scored.found, data)
    table = evidence_table([scored, context])
    header, rows = table.header, table.rows
    assert [row[0] for row in rows] == ["prism"]
    assert dict(zip(header, rows[0], strict=True)) == {
        "variant": "prism",
        "P": "50.0",
        "R": "50.0",
        "F1": "50.0",
        "fact-P": "50.0",
        "fact-R": "75.0",
        "fact-F1": "58.3",
        "#passages": "1.33",
        "#sentences": "1.33",
        "left (sent.)": "25.0",
        "left (words)": "33.3",
        "dropped": "1.00",
        "n": "3",
    }
    assert answers_table([scored, context]).rows[1] == ["oracle", "33.3", "55.6", "66.7", "66.7", "3"]
    # 6 calls a question, each of 10 tokens and 1, one of them to answer
    assert cost_table([scored]).rows == [["prism", "6.0", "0.0", "60", "6", "10", "0", "2.00"]]
    assert [row[0] for row in rounds_table(scored, data).rows] == ["N = 1", "N = 2"]
    errors = errors_table(scored, data, "kind")
    assert errors.header == ["subset", "bridge", "comparison", "n"]
    assert errors.rows == [
        ["all", "66.7", "33.3", "3"],
        ["recall < 1", "50.0", "50.0", "2"],
        ["answer wrong", "50.0", "50.0", "2"],
    ]
    assert match_table([scored, context]).rows == [["prism", "0.0", "1", "0.0", "2", "0.0", "2"]]


def test_tokens_that_were_not_counted_are_a_dash(found, data):
    bare = [
        replace(
            one,
            usage=replace(one.usage, uncounted=1),
            trace=tuple(s | ({"usage": s["usage"] | {"uncounted": 1}} if "usage" in s else {}) for s in one.trace),
        )
        for one in found
    ]
    scores = score_variant("prism", bare, data)
    assert cost_table([scores]).rows == [["prism", "6.0", "0.0", "–", "–", "–", "0", "2.00"]]
    assert [row[-1] for row in rounds_table(scores, data).rows] == ["–", "–"]


def test_no_column_for_sentences_without_gold_sentences(found, data):
    scores = score_variant("prism", found[2:], data.__class__("mini", data.corpus, data.questions[2:]))
    assert "fact-P" not in evidence_table([scores]).header
    assert "fact-P" not in rounds_table(scores, data.__class__("mini", data.corpus, data.questions[2:])).header


def test_files(scored, data, tmp_path):
    write_prism(tmp_path, [scored], data, describe(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "errors.csv",
        "prism.json",
        "prism.md",
        "rounds.csv",
        "variants.csv",
    ]
    read = json.loads((tmp_path / "prism.json").read_text())
    assert read == json.loads(json.dumps(as_json([scored], data, describe(data)), allow_nan=False))
    assert read["variants"]["prism"]["mean"]["passage_f1"] == 1 / 2
    with (tmp_path / "variants.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert (line["variant"], line["usage_calls"], float(line["words_left"])) == ("prism", "18", pytest.approx(1 / 3))
    assert float(line["passages"]) == pytest.approx(4 / 3)
    for name in ("variants", "rounds", "errors"):
        with (tmp_path / f"{name}.csv").open() as file:
            assert {(r["corpus_passages"], r["corpus_hash"]) for r in csv.DictReader(file)} == {("6", data.corpus.hash)}
    text = (tmp_path / "prism.md").read_text()
    for title in ("## Evidence", "## Rounds of prism", "## Errors of prism by hops", "## Recall and answers"):
        assert title in text
    with pytest.raises(DataError, match="cannot be written"):
        write_prism(tmp_path / "none", [scored], data, describe(data))


def test_rounds_are_those_of_the_longest_run(scored, found, data):
    short = score_variant("short", [QuestionResult(one.id, (), ()) for one in found], data)
    assert longest_run([short, scored], data).name == "prism"
    assert longest_run([short], data) is None
    assert "## Rounds" not in as_document([short], data, describe(data)).as_markdown()


def test_errors_are_those_of_the_first_variant_that_searches(scored, found, data):
    oracle, short = (score_variant(name, found, data) for name in ("oracle", "short"))
    text = as_document([oracle, short, scored], data, describe(data)).as_markdown()
    assert [line for line in text.splitlines() if line.startswith("## Errors")] == [
        "## Errors of short by kind",
        "## Errors of short by hops",
    ]
    assert "## Errors" not in as_document([oracle], data, describe(data)).as_markdown()


def test_the_variants_are_the_paper_s_and_ours():
    assert VARIANTS["prism"] == {}
    assert (PAPER.rounds, PAPER.agents, PAPER.start) == (3, ("adder", "selector"), "draft")
    assert not set(VARIANTS) & set(CONTEXTS)
    assert len({repr(replace(PAPER, **changes)) for changes in VARIANTS.values()}) == len(VARIANTS)
