"""Limits that were reached are counted in the tables."""

import csv
import json

from markupsafe import escape

from eval.compare.passages import compare_passages
from eval.report.passages import notes, write_passages
from eval.run.passage_scores import cut, cuts, score
from eval.run.question_result import QuestionResult


def test_questions_with_a_limit_are_counted(data, tmp_path):
    graph, twice = {"step": "graph", "limits": ["max_paths", "cycle"]}, {"step": "answer", "left_out": 2}
    traces = [(graph,), (graph | {"limits": ["cycle"]}, twice), ({"step": "graph", "limits": []},), ()]
    found = [
        QuestionResult(q.id, (), (), seconds=1.0, trace=trace) for q, trace in zip(data.questions, traces, strict=True)
    ]
    limited = score("limited", found, data)
    whole = score("whole", [QuestionResult(q.id, (), (), seconds=1.0) for q in data.questions], data)
    assert cuts(limited) == {"all": 2, "cycle": 2, "facts": 1, "max_paths": 1}
    assert cuts(whole) == {"all": 0}
    both = compare_passages([limited, whole], data, {}, samples=20)
    assert notes(both)[-1].endswith(": limited 2 (cycle 2, facts 1, max_paths 1).")
    [_, fewer] = notes(compare_passages([whole], data, {}, samples=20))
    assert fewer == "Questions with something to compare with, of 4: R@2, R@5, R@10, R@15, P, R, F1 3."
    write_passages(tmp_path, both)
    assert notes(both)[-1] in (tmp_path / "passages.md").read_text()
    assert str(escape(notes(both)[-1])) in (tmp_path / "traces.html").read_text()
    rows = list(csv.DictReader((tmp_path / "systems.csv").open(newline="")))
    assert [(row["cut_all"], row["cut_cycle"]) for row in rows] == [("2", "2"), ("0", "")]
    assert json.loads((tmp_path / "passages.json").read_text())["systems"]["limited"]["cut"] == cuts(limited)


def test_damaged_traces_tell_of_no_limits():
    assert cut(QuestionResult("q", (), (), trace=({"limits": "max_paths"}, {"limits": 3}, {"limits": None}))) == set()
    assert cut(QuestionResult("q", (), (), trace=({"limits": [["a"], 3]},))) == {"['a']", "3"}
