"""Sheets for human marks: writing, reading of completed sheets, invalid sheets."""

from __future__ import annotations

import csv
import json

import pytest

from bgr.data.reasongraphqa.checks.marking import COLUMNS, CRITERIA, read_marks, write_sheet
from bgr.data.reasongraphqa.io.fact_records import sample_facts
from bgr.errors import DataError

TITLES = ["-30-", "=1+1", "+1", "@home", 'A, "quoted" one', "Æon Flux", "A\nB"]


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    with (folder / "facts.jsonl").open("w", encoding="utf-8") as file:
        for n, title in enumerate(TITLES):
            fact = {"head": f"F{n}", "name": title, "predicate": "review score"}
            fact["value"] = {"type": "quantity", "value": 43, "unit": "percent"}
            fact["qualifiers"] = [["review score by", {"type": "string", "value": "Metacritic"}]]
            more = {"head": f"F{n}", "name": title, "predicate": "director", "tail": "P", "tail_name": "Al"}
            line = {"id": f"F{n}", "sentence": f"{title} scored 43%.", "gold": True, "facts": [fact, more]}
            file.write(json.dumps(line) + "\n")
    return folder


@pytest.fixture
def sheet(dataset, tmp_path):
    path = tmp_path / "out" / "sheet.csv"
    write_sheet(sample_facts(dataset, 100, 0).records, path)
    return path


def rows(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path, target, marks, delimiter=",", order=1):
    """A completed copy; `marks` gives the mark of a criterion for the n-th fact."""
    found = [{**row, **{c: str(marks(n, c)) for c in CRITERIA}} for n, row in enumerate(rows(path))]
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(found[::order])
    return target


def test_a_sheet_has_the_facts_and_empty_marks(sheet):
    found = rows(sheet)
    assert list(found[0]) == list(COLUMNS)
    assert [row["id"] for row in found] == [f"F{n}" for n in range(len(TITLES))]
    triples = "Æon Flux | review score | 43 percent (review score by: Metacritic) ; Æon Flux | director | Al"
    assert (found[5]["sentence"], found[5]["triples"]) == ("Æon Flux scored 43%.", triples)
    assert found[4]["sentence"] == 'A, "quoted" one scored 43%.'
    assert {row[c] for row in found for c in CRITERIA} == {""}
    assert len(sheet.read_text(encoding="utf-8").splitlines()) == len(TITLES) + 1


def test_no_cell_is_a_formula(sheet):
    cells = [cell for row in rows(sheet) for cell in row.values()]
    assert not [cell for cell in cells if cell[:1] in set("=+-@")]
    assert [row["sentence"] for row in rows(sheet)][:4] == [f"'{title} scored 43%." for title in TITLES[:4]]


def test_a_sheet_is_sampled_by_seed_and_not_overwritten_by_default(dataset, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in (first, second):
        write_sheet(sample_facts(dataset, 3, 1).records, path)
    assert len(rows(first)) == 3
    assert first.read_bytes() == second.read_bytes()
    facts = sample_facts(dataset, 4, 1).records
    with pytest.raises(DataError, match=r"a\.csv: exists already; give --overwrite"):
        write_sheet(facts, first)
    write_sheet(facts, first, overwrite=True)
    assert len(rows(first)) == 4
    with pytest.raises(DataError, match="cannot be written"):
        write_sheet(facts, tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv", "data"]


def test_two_markers(sheet, tmp_path):
    a = fill(sheet, tmp_path / "a.csv", lambda n, c: 1)
    # saved with semicolons, sorted in reverse, with other marks for one fact
    b = fill(sheet, tmp_path / "b.csv", lambda n, c: int(not (n == 2 and c == "fluency")), ";", -1)
    marks = read_marks([a, b])
    assert marks.ids == tuple(f"F{n}" for n in range(len(TITLES)))
    assert marks.marks["fluency"] == ((1, 1), (1, 1), (1, 0), *[(1, 1)] * 4)
    fluency, faithfulness, _ = marks.agreement()
    assert (fluency.equal, fluency.mean, fluency.kappa) == (6 / 7, 13 / 14, pytest.approx(0.0))
    assert (faithfulness.equal, faithfulness.kappa) == (1.0, None)


def test_three_markers_and_one(sheet, tmp_path):
    sheets = [fill(sheet, tmp_path / f"{m}.csv", lambda n, c, m=m: int((n + m) % 3 > 0)) for m in range(3)]
    assert [found.kind for found in read_marks(sheets).agreement()] == ["fleiss"] * 3
    assert read_marks(sheets[:1]).agreement()[0].mean == pytest.approx(4 / 7)


@pytest.mark.parametrize("mark", ["", "2", "yes", "1.0", "01", "=1"])
def test_another_mark_is_one_line_with_file_line_and_column(sheet, tmp_path, mark):
    path = fill(sheet, tmp_path / "a.csv", lambda n, c: mark if n == 3 and c == "sufficiency" else 0)
    with pytest.raises(DataError) as caught:
        read_marks([path])
    assert str(caught.value) == f"{path}: line 5, column sufficiency: mark {mark!r}, allowed: 0, 1"


def damage(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fluency", "smooth", "a.csv: line 1: lacks the column 'fluency'"),
        ("F3,", "F2,", "a.csv: line 5: fact 'F2' is repeated"),
        ("F3,", "F9,", "a.csv: lacks fact 'F3', which "),
        ("43%", "44%", "a.csv: the sentence of fact 'F0' differs from that in "),
        (",1,1,1", "", "a.csv: line 2, column fluency: mark ''"),
        ("Æon", "\x00", "a.csv: "),
    ],
)
def test_sheets_that_do_not_fit(sheet, tmp_path, old, new, message):
    a, b = (fill(sheet, tmp_path / name, lambda n, c: 1) for name in ("a.csv", "b.csv"))
    damage(a, old, new)
    with pytest.raises(DataError) as caught:
        read_marks([b, a])
    assert message in str(caught.value)


def test_no_sheet(sheet, tmp_path):
    a = fill(sheet, tmp_path / "a.csv", lambda n, c: 1)
    (tmp_path / "latin.csv").write_bytes(b"id,\xff\n")
    (tmp_path / "bare.csv").write_text(",".join(COLUMNS) + "\n")
    for paths, message in (
        ([], "one or more"),
        ([a, a], "a.csv: given twice"),
        ([tmp_path / "none.csv"], "none.csv: no such file"),
        ([tmp_path / "latin.csv"], "latin.csv: cannot be read"),
        ([tmp_path / "bare.csv"], "bare.csv: has no facts"),
    ):
        with pytest.raises(DataError, match=message):
            read_marks(paths)
