"""The benchmark against kopl on a small folder: agreement, output forms and bad input."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bgr.cli import main
from bgr.errors import DataError, ProgramError
from eval.bench.kopl import bench_kopl, read_programs
from eval.bench.options import KoplOptions
from eval.bench.reference.kopl_reference import KoplReference

QUESTIONS = [
    [
        {"function": "FindAll", "dependencies": [], "inputs": []},
        {"function": "FilterNum", "dependencies": [0], "inputs": ["size", f"{n}", ">"]},
        {"function": "SelectAmong", "dependencies": [1], "inputs": ["size", "smallest"]},
    ]
    for n in range(12)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A KQA Pro folder with ten entities; the programs of 9 and more find nothing and are refused by both."""
    entities: dict[str, Any] = {
        f"E{n}": {
            "name": f"thing {n}",
            "instanceOf": ["C"],
            "attributes": [{"key": "size", "value": {"type": "quantity", "value": n, "unit": "1"}, "qualifiers": {}}],
            "relations": [],
        }
        for n in range(10)
    }
    kb = {"concepts": {"C": {"name": "thing", "subclassOf": []}}, "entities": entities}
    (tmp_path / "kb.json").write_text(json.dumps(kb))
    (tmp_path / "train.json").write_text(json.dumps([{"program": program} for program in QUESTIONS[:8]]))
    (tmp_path / "val.json").write_text(json.dumps([{"program": program} for program in QUESTIONS[8:]]))
    return tmp_path


def test_command_prints_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kopl", "--kqapro", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "12 programs over 10 entities: 12 answers equal" in printed
    assert "0 different" in printed
    assert "3 of 27 functions, the rarest, FindAll, in 12 programs" in printed


def test_command_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kopl", "--kqapro", str(folder), "--programs", "5", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["programs"], result["equal"], result["differing"]) == (5, 5, [])
    assert result["ratio"] == pytest.approx(result["kopl_seconds"] / result["ours_seconds"])
    assert result["median_ratio"] > 0
    assert result["functions"] == {"FindAll": 5, "FilterNum": 5, "SelectAmong": 5}


def test_random_programs_without_questions(random_kb: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "kb.json").write_text(json.dumps(random_kb))
    result = bench_kopl(KoplOptions(kqapro=tmp_path, programs=60)).data
    assert result["programs"] == 60
    assert result["equal"] + result["tied"] == 60


@pytest.fixture
def random_kb() -> dict[str, Any]:
    """Twenty entities with data for each function, two of them of equal size."""
    entities: dict[str, Any] = {}
    for n in range(20):
        when = {"since": [{"type": "year", "value": 1950 + n}], "note": [{"type": "string", "value": "so"}]}
        values = [
            {"type": "quantity", "value": n // 2, "unit": "metre"},
            {"type": "date", "value": f"19{50 + n}-01-02"},
            {"type": "string", "value": "red"},
            {"type": "year", "value": 1960 + n % 3},
        ]
        keys = ("size", "begun", "colour", "ended")
        entities[f"E{n}"] = {
            "name": f"thing {n}",
            "instanceOf": ["C"],
            "attributes": [{"key": k, "value": v, "qualifiers": when} for k, v in zip(keys, values, strict=True)],
            "relations": [
                {"relation": "next", "direction": "forward", "object": f"E{(n + 1) % 20}", "qualifiers": when}
            ],
        }
    return {"concepts": {"C": {"name": "thing", "subclassOf": []}}, "entities": entities}


def test_a_difference_fails(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_kopl(KoplOptions(kqapro=folder)).error is None
    monkeypatch.setattr(KoplReference, "answer", lambda self, program: "a")
    assert main(["bench", "kopl", "--kqapro", str(folder), "--programs", "2"]) == 1
    printed = capsys.readouterr()
    assert "0 answers equal, 0 equal except for ties that kopl breaks by hash order, 2 different" in printed.out
    assert "2 answers differ from kopl's; " in printed.err
    assert "kopl 'a', ours " in printed.err


def test_reading_programs(folder: Path, tmp_path: Path) -> None:
    assert len(read_programs(folder, 100) or ()) == 12
    assert read_programs(folder, 5, seed=1) == read_programs(folder, 5, seed=1) != read_programs(folder, 5, seed=2)
    assert read_programs(tmp_path / "elsewhere", 100) is None
    (folder / "val.json").write_text(json.dumps([{"question": "?"}]))
    with pytest.raises(DataError, match=r"val.json, item 0: field 'program' is missing"):
        read_programs(folder, 100)
    (folder / "val.json").write_text(json.dumps([{"program": QUESTIONS[0][:1]}]))
    with pytest.raises(ProgramError, match=r"val.json, item 0, step 0 \(FindAll\): gives entities"):
        read_programs(folder, 100)
    (folder / "val.json").write_text("{}")
    with pytest.raises(DataError, match=r"val.json: expected a list of questions"):
        read_programs(folder, 100)


def test_no_program(folder: Path) -> None:
    for name in ("train.json", "val.json"):
        (folder / name).write_text("[]")
    with pytest.raises(DataError, match="there is no program to run"):
        bench_kopl(KoplOptions(kqapro=folder))


def test_many_programs_go_through_once_and_few_of_them_with_facts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.bench.kopl.MANY", 10)
    monkeypatch.setattr("eval.bench.kopl.WITH_FACTS", 4)
    result = bench_kopl(KoplOptions(kqapro=folder, programs=12)).data
    assert (result["programs"], result["equal"], result["with_facts"]) == (12, 12, 4)


def test_without_kopl(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "kopl.kopl", None)
    assert main(["bench", "kopl", "--kqapro", str(folder)]) == 1
    assert "the package kopl, the reference of this benchmark, is missing" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["kopl", "--programs", "0"], ["kopl", "--programs", "x"], [], ["nothing"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["bench", *arguments])
    assert error.value.code == 2


def test_missing_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kopl", "--kqapro", str(tmp_path / "no")]) == 1
    assert "kb.json: no such file" in capsys.readouterr().err
