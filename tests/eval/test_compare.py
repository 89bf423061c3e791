"""The comparison: its numbers are those of the evaluations, and everything is written and can be read again."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bgr.errors import BgrError
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.baselines.single_hop import Bm25Facts
from eval.compare.compare import GOLD, TITLES, compare
from eval.report.comparison import as_document, groups_table, pairs_table, table4, table6, write_comparison
from eval.report.document import latex_escape
from eval.run.evaluate import Predictions, evaluate
from eval.run.read_evaluation import read_evaluation
from eval.run.significance import mcnemar

ABOUT = {"data": "here", "data_hash": "abc", "split": "test"}


@pytest.fixture
def comparison(examples, imperfect):
    gold = [RetrievalResult(example.graph) for example in examples]
    systems = {
        "bm25": Bm25Facts(),
        "mine": Predictions(imperfect, 3.0, ["yes", "no"] * 15, parameters=23_400_000),
        GOLD: Predictions(gold, answers=["yes", None, "no"] * 10),
    }
    return compare(evaluate(systems, examples), examples, "mine", ABOUT, samples=200, seed=1)


def test_means_are_those_of_the_evaluations(comparison):
    for one in comparison.evaluations:
        for metric, found in comparison.intervals[one.name].items():
            assert found.mean == pytest.approx(one.mean[metric])
            assert found.low <= found.mean <= found.high
    assert "qa_em" not in comparison.intervals["bm25"]
    assert comparison.metrics == tuple(TITLES)
    assert comparison.about == {**ABOUT, "bootstrap_samples": 200, "seed": 1}


def test_pairs_begin_with_the_main_system(comparison):
    assert [(pair.first, pair.second) for pair in comparison.pairs] == [
        ("mine", "bm25"),
        ("mine", GOLD),
        ("bm25", GOLD),
    ]
    pair, (bm25, mine, _) = comparison.pairs[0], comparison.evaluations
    assert pair.differences["f1"].interval.mean == pytest.approx(mine.mean["f1"] - bm25.mean["f1"])
    right = [np.array([row.gm for row in one.rows]) for one in (mine, bm25)]
    assert pair.differences["gm"].p == mcnemar(*right)
    assert set(pair.differences) == {"gm", "f1"}  # bm25 has no answers
    assert set(comparison.pairs[1].differences) == {"gm", "f1", "qa_em"}


def test_tables(comparison):
    table = table4(comparison)
    header, rows = table.header, table.rows
    assert header == ["system", "GM", "GS", "GED", "F1", "P", "R", "EM", "QA EM", "n", "s/question", "parameters"]
    bm25, mine, gold = rows
    assert bm25[8] == "–"
    assert mine[-3:] == ["30", "0.1000", "23.4 M"]
    assert bm25[-1] == "0"
    assert gold[1] == "100.0 [100.0, 100.0]"
    assert gold[8].startswith("33.3 [")
    assert gold[-2:] == ["–", "–"]
    assert pairs_table(comparison).rows[2][-2:] == ["–", "–"]
    table = groups_table(comparison, "gm", "structure")
    header, rows = table.header, table.rows
    assert header == ["system", "SC-SH", "SC-MH", "MC-SH", "MC-MH"]
    assert rows[2][1:] == ["100.0"] * 4
    assert sum(map(int, rows[-1][1:])) == 30
    assert sum(int(row[2]) for row in table6(comparison.evaluations[1]).rows) == 30


def test_texts(comparison):
    text = as_document(comparison, {f"Figure {n}": Path(f"figure{n}.png") for n in (5, 6)}).as_markdown()
    for part in (
        "## Systems (Table 4)",
        "figure5.png",
        "figure6.png",
        "## Hops and chains (Table 6)",
        "### mine",
        "## Errors",
    ):
        assert part in text
    assert "figure5.png" not in as_document(comparison, {}).as_markdown()
    latex = table4(comparison).as_latex()
    assert r"\begin{tabular}{lrrrrrrrrrrr}" in latex
    assert r"gold graph & 100.0 {\scriptsize [100.0, 100.0]}" in latex
    assert (
        latex_escape("a_b & 5 % {\\x}\n~^") == r"a\_b \& 5 \% \{\textbackslash{}x\} \textasciitilde{}\textasciicircum{}"
    )


def test_what_is_written_can_be_compared_again(comparison, examples, tmp_path):
    write_comparison(tmp_path, comparison)
    names = "compare.md compare.tex errors.json errors.md figure6.png metrics.csv metrics.json pairs.csv"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *names.split(),
        "predictions.jsonl",
        "report.html",
        "table4.csv",
    ]
    read = read_evaluation(tmp_path)
    assert (read.systems, read.main, read.about["data_hash"]) == (("bm25", "mine", GOLD), "mine", "abc")
    systems = {name: read.predictions(name, examples) for name in read.systems}
    again = evaluate(systems, examples)
    for one, other in zip(again, comparison.evaluations, strict=True):
        assert one.rows == other.rows
        assert one.answers == other.answers
        assert one.parameters == other.parameters
        assert [result.graph for result in one.results] == [result.graph for result in other.results]
    with (tmp_path / "table4.csv").open(newline="") as file:
        lines = {line["system"]: line for line in csv.DictReader(file)}
    assert float(lines["mine"]["qa_em_low"]) == comparison.intervals["mine"]["qa_em"].low
    assert lines["bm25"]["qa_em"] == ""
    with (tmp_path / "pairs.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    assert json.loads((tmp_path / "errors.json").read_text())["mine"]["failures"] == comparison.errors[1].failures


@pytest.mark.workflow
def test_figure5_from_a_sweep(comparison, tmp_path):
    point = {"gm": 0.5, "gs": 0.5, "f1": 0.7, "ged": 1.0}
    rules = {"fused": [point, point], "equation": [point, point]}
    best = {rule: {"gamma": 1.0, **point} for rule in rules}
    write_comparison(tmp_path, comparison, {"about": {}, "gammas": [0.0, 1.0], "rules": rules, "best": best, "n": 9})
    assert (tmp_path / "figure5.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "report.html").read_text().count("data:image/png;base64,") == 2


def test_a_name_is_any_text(comparison, tmp_path):
    """Names that mean something to matplotlib, HTML, LaTeX or Markdown."""
    odd = ["_a $x$", "</script><b>&", "x|y"]
    renamed = [replace(one, name=name) for one, name in zip(comparison.evaluations, odd, strict=True)]
    found = compare(renamed, comparison.examples, odd[1], ABOUT, samples=10)
    write_comparison(tmp_path, found)
    assert "<b>&" not in (tmp_path / "report.html").read_text()
    assert "x\\|y" in (tmp_path / "compare.md").read_text()


def test_an_unknown_main_system(comparison):
    with pytest.raises(BgrError, match="no system 'yours', there are: bm25, mine, gold graph"):
        compare(comparison.evaluations, comparison.examples, "yours", ABOUT)


def test_answers_are_compared_where_the_right_one_is_known(examples, imperfect, comparison):
    asked = [replace(one, answer="") if n % 3 == 0 else one for n, one in enumerate(examples)]
    gold = [RetrievalResult(example.graph) for example in asked]
    systems = {"mine": Predictions(imperfect, answers=["yes", "no"] * 15), GOLD: Predictions(gold, answers=["no"] * 30)}
    evaluations = evaluate(systems, asked)
    assert [row.qa_em is None for row in evaluations[0].rows] == [n % 3 == 0 for n in range(30)]
    found = compare(evaluations, asked, "mine", ABOUT, samples=200, seed=1)
    known = [row.qa_em for row in evaluations[0].rows if row.qa_em is not None]
    assert found.intervals["mine"]["qa_em"].mean == pytest.approx(sum(known) / 20) == evaluations[0].mean["qa_em"]
    assert set(found.pairs[0].differences) == {"gm", "f1", "qa_em"}
    assert found.intervals["mine"]["f1"] == comparison.intervals["mine"]["f1"]  # the same questions are drawn


def test_without_a_known_answer_there_is_none_to_compare(examples, imperfect):
    asked = [replace(one, answer="") for one in examples]
    [found] = evaluate({"mine": Predictions(imperfect, answers=["yes"] * 30)}, asked)
    assert "qa_em" not in found.mean
    assert "qa_em" not in compare([found], asked, "mine", ABOUT, samples=20).intervals["mine"]
