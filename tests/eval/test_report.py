"""The report has the numbers of the evaluation and can be read back."""

import csv
import json
import math

import pytest

from bgr.data.example import Example
from bgr.errors import BgrError
from bgr.retrievers.baselines.single_hop import Bm25Facts
from eval.report.document import Table, write_csv
from eval.report.evaluation import as_text, notes, systems_table, write_report
from eval.report.plots import plot_groups, plot_hops_by_chains
from eval.run.evaluate import Predictions, evaluate, named

ABOUT = {"data": "here", "split": "test"}


@pytest.fixture
def evaluations(examples, imperfect):
    return evaluate({"bm25": Bm25Facts(), "mine": Predictions(imperfect, 3.0)}, examples)


def test_tables():
    assert Table.of(["system", "GM"], [["a", "1.00"], ["longer name", "100.00"]]).as_text().splitlines() == [
        "system           GM",
        "-------------------",
        "a              1.00",
        "longer name  100.00",
    ]
    lines = ["| a\\|b | n |", "| --- | ---: |", "| x | 1 |"]
    assert Table.of(["a|b", "n"], [["x", "1"]]).as_markdown().splitlines() == lines


def test_csv_keeps_every_digit(tmp_path):
    write_csv(tmp_path / "a.csv", [{"x": 1, "y": "a,b\n"}, {"z": None, "x": 0.1 + 0.2, "y": True}, {"x": math.nan}])
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["x", "y", "z"], ["1", "a,b\n", ""], ["0.30000000000000004", "True", ""], ["", "", ""]]
    write_csv(tmp_path / "none.csv", [])
    assert not (tmp_path / "none.csv").read_text().strip()


def test_one_row_for_each_system(evaluations):
    table = systems_table(evaluations)
    header, rows = table.header, table.rows
    assert header == ["system", "GM", "GS", "GED", "GED-l", "F1", "P", "R", "EM", "n", "ms/question"]
    assert [row[0] for row in rows] == ["bm25", "mine"]
    mean = evaluations[1].mean
    assert rows[1][1:4] == [f"{100 * mean['gm']:.2f}", f"{100 * mean['gs']:.2f}", f"{mean['ged']:.2f}"]
    assert rows[1][-2:] == ["30", "100.0"]


def test_text_breaks_the_main_system_down(evaluations):
    text = as_text(evaluations, "mine")
    for heading in ("mine, by type", "mine, by structure", "mine, by hops", "mine, by chains"):
        assert heading in text
    assert "mine: decoding met a limit on 15 questions" in notes(evaluations)
    with pytest.raises(BgrError, match="'yours', there are: bm25, mine"):
        named(evaluations, "yours")


def test_everything_is_written(evaluations, examples, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", ABOUT)
    names = ["groups.png", "hops_by_chains.png", "metrics.csv", "metrics.json", "metrics.md", "predictions.jsonl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    content = json.loads((tmp_path / "metrics.json").read_text())
    assert content["about"] == ABOUT
    assert content["systems"]["mine"]["all"] == evaluations[1].mean
    assert content["systems"]["bm25"]["hops_by_chains"]["3,1"]["n"] == 6
    with (tmp_path / "metrics.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    overall = next(line for line in lines if (line["system"], line["grouping"]) == ("mine", "all"))
    assert float(overall["f1"]) == evaluations[1].mean["f1"]
    assert sum(int(line["n"]) for line in lines if (line["system"], line["grouping"]) == ("mine", "structure")) == 30
    assert "| mine |" in (tmp_path / "metrics.md").read_text()


def test_predictions_can_be_read_as_examples_again(evaluations, examples, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", ABOUT)
    records = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert [Example.from_json(record) for record in records] == examples
    for record, row, result in zip(records, evaluations[1].rows, evaluations[1].results, strict=True):
        mine = record["predictions"]["mine"]
        assert {(a, b) for a, b, *_ in mine["edges"]} == result.graph.edges
        assert all(edge[2:] == ([0.5] if row.limits else []) for edge in mine["edges"])
        assert (mine["gm"], mine["ged"], mine["limits"]) == (row.gm, row.ged, list(row.limits))


def test_plots_are_pictures(evaluations, tmp_path):
    for number, plot in enumerate((plot_groups, plot_hops_by_chains)):
        plot(evaluations[1], tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
