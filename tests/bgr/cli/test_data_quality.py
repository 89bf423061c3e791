"""`bgr data quality`: report, sheet, marks."""

from __future__ import annotations

import json

import pytest

from bgr.cli.data import command
from bgr.cli.parser import execute
from bgr.errors import DataError

LINES = [
    {
        "id": f"F{n}",
        "sentence": f"Film {n} was was directed by Al." if n == 3 else f"Film {n} was directed by Al.",
        "gold": n % 2 == 0,
        "facts": [{"head": f"E{n}", "name": f"Film {n}", "predicate": "director", "tail": "P", "tail_name": "Al"}],
    }
    for n in range(8)
]


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "facts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return folder


def call(*arguments):
    execute("bgr data", command(), ["quality", *map(str, arguments)])


def test_the_report(dataset, capsys):
    call(dataset)
    out = capsys.readouterr().out
    assert "8 of 8 facts (4 of them gold), seed 0" in out
    assert "F3  was was: Film 3 was was directed by Al." in out
    call(dataset, "--json", "--facts", "5", "--seed", "1")
    found = json.loads(capsys.readouterr().out)
    assert (found["facts"], found["total"], found["seed"]) == (5, 8, 1)
    assert "marks" not in found


def test_sheet_then_marks(dataset, tmp_path, capsys):
    sheet = tmp_path / "sheet.csv"
    call(dataset, "--sheet", sheet)
    assert "sheet.csv: 8 facts to mark" in capsys.readouterr().err
    for name, bad in (("a.csv", "F3,"), ("b.csv", "F4,")):
        lines = sheet.read_text().splitlines()
        marked = [f"{line[:-3]},{0 if line.startswith(bad) else 1},1,1" for line in lines[1:]]
        (tmp_path / name).write_text("\n".join([lines[0], *marked]))
    call(dataset, "--marks", tmp_path / "a.csv", tmp_path / "b.csv")
    out = capsys.readouterr().out
    assert "marks of 8 facts, 2 sheet(s):" in out
    assert "fluency       mean 0.875, equal 75.0%, kappa (Cohen) -0.143" in out
    call(dataset, "--json", "--marks", tmp_path / "a.csv")
    found = json.loads(capsys.readouterr().out)["marks"]
    assert (found["facts"], found["criteria"][0]["mean"], found["criteria"][0]["kappa"]) == (8, 0.875, None)


def test_what_is_in_the_way_is_refused(dataset, tmp_path, capsys):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("mine")
    with pytest.raises(DataError, match="give --overwrite"):
        call(dataset, "--sheet", sheet)
    with pytest.raises(DataError, match="would overwrite the marks"):
        call(dataset, "--sheet", sheet, "--marks", sheet)
    with pytest.raises(SystemExit, match="2"):
        call(dataset, "--sheet", sheet, "--marks", sheet, "--overwrite")
    assert sheet.read_text() == "mine"
    shown = capsys.readouterr()
    assert f"--marks: {sheet} would be deleted with --sheet {sheet}" in shown.err
    assert shown.out == ""
    call(dataset, "--sheet", sheet, "--overwrite")
    assert sheet.read_text(encoding="utf-8-sig").startswith("id,sentence,triples")
    with pytest.raises(DataError, match="allowed: 1 or more"):
        call(dataset, "--facts", "0")
    with pytest.raises(DataError, match="no such file"):
        call(tmp_path / "nowhere")
