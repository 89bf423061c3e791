"""The usage of each step equals a count by hand."""

import csv
import json
from dataclasses import replace

from bgr.llm.usage import Price, Usage
from eval.compare.passages import compare_passages
from eval.report.passages import as_document, as_json, rounds_table, steps_table, systems_table, write_passages
from eval.run.passage_scores import by_step, score
from eval.run.question_result import QuestionResult

READ, AGAIN = Usage(calls=2, failed=1, tokens_in=30, tokens_out=4), Usage(cached=1, tokens_in=7, tokens_out=1)


def test_each_step_over_all_questions(data):
    trace = (
        {"step": "read", "round": 1, "usage": READ.to_json()},
        {"step": "expand"},
        {"step": "read", "round": 2, "usage": AGAIN.to_json()},
        {"step": "answer", "usage": AGAIN.to_json()},
    )
    found = [QuestionResult(q.id, (), (), usage=READ + AGAIN + AGAIN, trace=trace) for q in data.questions]
    asking = score("asking", found, data)
    steps = by_step(asking)
    assert steps == {"read": Usage(8, 4, 4, 148, 20), "answer": Usage(0, 4, 0, 28, 4)}
    assert sum(steps.values(), Usage()) == asking.usage
    silent = score("silent", [QuestionResult(q.id, (), ()) for q in data.questions], data)
    both = compare_passages([asking, silent], data, {}, samples=20)
    assert steps_table(both).rows == [
        ["asking", "read", "8", "4", "148", "20", "4"],
        ["asking", "answer", "0", "4", "28", "4", "0"],
    ]
    assert as_json(both)["systems"]["asking"]["steps"]["answer"]["tokens_in"] == 28
    assert "## By step" in as_document(both).as_markdown()
    assert "## By step" not in as_document(compare_passages([silent], data, {}, samples=20)).as_markdown()


def test_tokens_that_were_not_counted_are_not_known(data, tmp_path):
    """One reply without a count is enough, in a table, a file, a plot or the page; others keep theirs."""
    bare = Usage(calls=1, uncounted=1)
    one = ({"step": "read", "round": 1, "fused": [0], "usage": READ.to_json()},)
    two = (*one, {"step": "gist", "round": 2, "usage": bare.to_json()})
    counted = [QuestionResult(q.id, (), (), usage=READ, seconds=1.0, trace=one) for q in data.questions]
    known = score("known", counted, data)
    found = [replace(counted[0], usage=READ + bare, trace=two), *counted[1:]]
    both = compare_passages([known, score("partly", found, data)], data, {}, samples=20, price=Price(1e6, 0))
    table = systems_table(both)
    header, rows = table.header, table.rows
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert [first[name] for name in ("calls", "tokens in", "tokens out", "cost")] == ["2.0", "30", "4", "30.000000"]
    assert [second[name] for name in ("calls", "tokens in", "tokens out", "cost")] == ["2.2", "–", "–", "–"]
    assert [row[-1] for row in rounds_table(both).rows] == ["34", "34", "–"]
    assert [row[4:6] for row in steps_table(both).rows] == [["120", "16"], ["120", "16"], ["–", "–"]]
    assert as_document(both).as_markdown().count("Replies without one: partly 1 of 9.") == 1
    write_passages(tmp_path, both)
    rows = list(csv.DictReader((tmp_path / "systems.csv").open(newline="")))
    names = ("uncounted", "per_question_tokens_in", "per_question_cost")
    assert [[row[name] for name in names] for row in rows] == [["0", "30.0", "30.0"], ["1", "", ""]]
    written = json.loads((tmp_path / "passages.json").read_text())["systems"]["partly"]
    assert (written["usage"]["uncounted"], written["per_question"]["tokens_out"]) == (1, None)
    page = (tmp_path / "traces.html").read_text()
    assert "Replies without one: partly 1 of 9." in page
    assert "gist (tokens not counted)" in page
    assert "Replies without one" not in as_document(compare_passages([known], data, {}, samples=20)).as_markdown()


def test_calls_that_were_tried_again_or_cut_are_told(data, tmp_path):
    some = Usage(calls=4, tokens_in=9, retried=3, unanswered=1, cut=2, clipped=1)
    found = [QuestionResult(q.id, (), ()) for q in data.questions]
    bad = score("bad", [replace(found[0], usage=some), *found[1:]], data)
    both = compare_passages([score("good", found, data), bad], data, {}, samples=20)
    line = "truncated to the context (clipped): bad (3 retried, 1 unanswered, 2 cut, 1 clipped)."
    assert line in as_document(both).as_markdown()
    write_passages(tmp_path, both)
    rows = list(csv.DictReader((tmp_path / "systems.csv").open(newline="")))
    assert [[row[name] for name in ("retried", "unanswered", "cut", "clipped")] for row in rows] == [
        ["0"] * 4,
        [*"3121"],
    ]
    assert "1 unanswered, 3 retried, 2 cut, 1 clipped" in (tmp_path / "traces.html").read_text()
    clean = compare_passages([score("good", found, data)], data, {}, samples=20)
    assert "clipped" not in as_document(clean).as_markdown()
