"""Evaluations and sweeps that are read equal those that were written; an error names the damage in one line."""

import json

import pytest

from bgr.errors import BgrError
from eval.report.evaluation import write_metrics
from eval.run.evaluate import Predictions, evaluate
from eval.run.read_evaluation import check_hash, read_evaluation
from eval.run.sweep import read_sweep


@pytest.fixture
def folder(examples, imperfect, tmp_path):
    home = tmp_path / "evaluation"
    home.mkdir()
    found = evaluate({"a": Predictions(imperfect), "b": Predictions(imperfect, 6.0, ["yes"] * 30, 7)}, examples)
    write_metrics(home, found, examples, "a", {"data_hash": "abc"})
    return home


def change_line(folder, number, change):
    path = folder / "predictions.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records[number])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_read_back(folder, examples, imperfect):
    read = read_evaluation(folder)
    assert (read.systems, read.main) == (("a", "b"), "a")
    a, b = read.predictions("a", examples), read.predictions("b", examples)
    assert [result.graph for result in a.results] == [result.graph for result in imperfect]
    assert [result.graph.scores for result in a.results] == [result.graph.scores for result in imperfect]
    assert [result.limits for result in a.results] == [result.limits for result in imperfect]
    assert (a.seconds, a.answers, a.parameters) == (None, None, None)
    assert (b.seconds, b.answers, b.parameters) == (6.0, ["yes"] * 30, 7)
    # of some of the questions, in another order
    some = [examples[9], examples[4]]
    assert [result.graph for result in read.predictions("b", some).results] == [imperfect[9].graph, imperfect[4].graph]
    assert read.predictions("b", some).seconds == pytest.approx(0.4)


def test_a_file_of_predictions_alone(folder, examples):
    read = read_evaluation(folder / "predictions.jsonl")
    assert (read.systems, read.main, read.about) == (("a", "b"), "b", {})
    assert read.predictions("a", examples).seconds is None


def test_other_data(folder, tmp_path):
    check_hash(folder, read_evaluation(folder).about, tmp_path, "abc")
    with pytest.raises(BgrError, match=r"was made on data with hash 'abc.* has 123456789012…"):
        check_hash(folder, read_evaluation(folder).about, tmp_path, "1234567890123")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.update(id="other"), "question 'q3' is missing"),
        (lambda r: r.update(id=3), "line 4: id is 3, allowed: a text"),
        (lambda r: r.update(id="q2"), "line 4: question 'q2' is there twice"),
        (lambda r: r.update(question="?"), "'q3': question, facts or gold graph are not those of the data"),
        (lambda r: r.update(edges=[[-1, 0]]), "'q3': question, facts or gold graph are not those of the data"),
        (lambda r: r.pop("predictions"), "line 4: not a question with predictions"),
        (lambda r: r["predictions"].pop("a"), "'q3': system 'a' has no list of edges"),
        (lambda r: r["predictions"]["a"].update(edges=3), "system 'a' has no list of edges"),
        (lambda r: r["predictions"]["a"].update(edges=[[0]]), r"edge \[0\], allowed"),
        (lambda r: r["predictions"]["a"].update(edges=[[-1, 6]]), r"edge \[-1, 6\], allowed.* facts 0 to 5"),
        (lambda r: r["predictions"]["a"].update(edges=[[-1, 0, "x"]]), "edge"),
        (lambda r: r["predictions"]["a"].update(edges=[[-1, 0, float("nan")]]), "edge"),
        (lambda r: r["predictions"]["a"].update(edges=[[-1, True]]), "edge"),
        (lambda r: r["predictions"]["a"].update(edges=[[-1, 0], [0, 1], [1, 0]]), "cycle"),
        (lambda r: r["predictions"]["a"].update(edges=[[0, 1]]), "cannot be reached"),
        (lambda r: r["predictions"]["a"].update(limits=["x", 1]), "limits of 'a'"),
        (lambda r: r["predictions"]["a"].update(answer=4), "answer of 'a' is 4, allowed: a text or null"),
    ],
)
def test_damaged_predictions(folder, examples, change, said):
    change_line(folder, 3, change)
    with pytest.raises(BgrError, match=said) as raised:
        read_evaluation(folder).predictions("a", examples)
    assert "\n" not in str(raised.value)
    assert "predictions.jsonl" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("metrics.json", "{", "metrics.json: not valid JSON"),
        ("metrics.json", "[]", "not the metrics of an evaluation"),
        ("metrics.json", '{"about": {}, "systems": 3}', "about and systems must be objects"),
        ("predictions.jsonl", "", "holds no predictions"),
        ("predictions.jsonl", "{", "line 1: not valid JSON"),
        ("predictions.jsonl", "3", "line 1: not a question with predictions"),
    ],
)
def test_damaged_files(folder, name, text, said):
    (folder / name).write_text(text)
    with pytest.raises(BgrError, match=said):
        read_evaluation(folder)


def test_missing_files_and_systems(folder, examples, tmp_path):
    with pytest.raises(BgrError, match="no system 'c', there are: a, b"):
        read_evaluation(folder).predictions("c", examples)
    with pytest.raises(BgrError, match="nothing: no such file"):
        read_evaluation(tmp_path / "nothing")
    (folder / "metrics.json").unlink()
    with pytest.raises(BgrError, match=r"metrics\.json: no such file"):
        read_evaluation(folder)


POINT = {"gm": 0.5, "gs": 0.5, "f1": 0.5, "ged": 1.0}
SWEEP = {"about": {}, "gammas": [0.0, 1.0], "rules": {"fused": [POINT] * 2}, "best": {"fused": {"gamma": 1.0}}, "n": 3}


def test_a_sweep(tmp_path):
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP))
    assert read_sweep(tmp_path) == read_sweep(tmp_path / "sweep.json") == SWEEP


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rules": 3}, "not a sweep"),
        ({"gammas": [0.0, 2]}, r"gammas\.1 is 2, allowed: less than or equal to 1"),
        ({"gammas": []}, "gammas is"),
        ({"rules": {}}, "rules is {}, allowed: .* at least 1 item"),
        ({"rules": {"best": [POINT] * 2}}, "rules.best is 'best', allowed: equation, .*, fused"),
        ({"rules": {"fused": [POINT]}}, "1 points, allowed: one for each γ"),
        ({"rules": {"fused": [POINT, {**POINT, "ged": None}]}}, "ged is None, allowed: a valid number"),
        ({"best": {"fused": {"gamma": 0.5}}}, "the best γ"),
    ],
)
def test_a_damaged_sweep(changes, said, tmp_path):
    (tmp_path / "sweep.json").write_text(json.dumps(SWEEP | changes))
    with pytest.raises(BgrError, match=said):
        read_sweep(tmp_path)
