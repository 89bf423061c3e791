"""`bgr data show`: output, selection of the sample, drawing, and errors."""

from __future__ import annotations

import json
import struct

import pytest

from bgr.cli.data import command
from bgr.cli.parser import execute
from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.data.reasongraphqa.io.show import program_lines
from bgr.errors import DataError
from bgr.graph.draw import tree_text
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

PROGRAM = (
    {"function": "Find", "dependencies": [], "inputs": ["Ada Berg"]},
    {"function": "Relate", "dependencies": [0], "inputs": ["director", "backward"]},
    {"function": "Find", "dependencies": [], "inputs": ["Nordia"]},
    {"function": "And", "dependencies": [1, 2], "inputs": []},
    {"function": "Count", "dependencies": [3], "inputs": []},
)
FACTS = ("Ada Berg made Winter.", "Gold melts.", "Winter was shot\x1b[31m in Nordia.", *["Rain falls."] * 8)
SAMPLE = Example(
    "dév-7", "How many films?", FACTS, EvidenceGraph([(ROOT, 0), (0, 2), (ROOT, 10)]), "1", PROGRAM, "count"
)


def small(split: str, number: int) -> Example:
    return Example(f"{split}-{number}", f"{split} {number}?", ("f.",), EvidenceGraph([(ROOT, 0)]), "x", (), "query")


@pytest.fixture
def folder(tmp_path):
    splits = {
        "train": [small("train", n) for n in range(9)],
        "dev": [small("dev", 0), SAMPLE],
        "test": [small("test", n) for n in range(5)],
    }
    write_dataset(tmp_path / "data", splits, [], {})
    return tmp_path / "data"


def show(capsys, *arguments) -> str:
    execute("bgr data", command(), ["show", *map(str, arguments)])
    return capsys.readouterr().out


def test_all_of_a_sample_is_printed(folder, capsys):
    out = show(capsys, folder, "--split", "dev", "--number", 1)
    assert out.splitlines()[:5] == [
        "question   How many films?",
        "answer     1",
        "type       count",
        "structure  MC-MH (2 chains, 2 hops, 3 gold facts)",
        "sample     dév-7 (dev, number 1)",
    ]
    assert "\n  1  Relate(director, backward)  <- 0\n" in out
    assert "\n  3  And  <- 1, 2\n" in out
    facts = out[out.index("facts (11") : out.index("evidence graph")].strip().splitlines()
    assert facts[1:4] == [
        "* [ 0] Ada Berg made Winter.",
        "  [ 1] Gold melts.",
        "* [ 2] Winter was shot [31m in Nordia.",
    ]
    assert [line[0] for line in facts[1:]] == ["*", " ", "*", *" " * 7, "*"]
    assert tree_text(SAMPLE.graph, FACTS, SAMPLE.question) in out
    assert "\x1b" not in out


def test_without_a_program():
    assert program_lines(()) == ["  none"]


def test_which_sample(folder, capsys):
    assert "test 0?" in show(capsys, folder)
    assert "test 4?" in show(capsys, folder, "--number", 4)
    assert "train 3?" in show(capsys, folder, "--id", "train-3")
    assert "How many films?" in show(capsys, folder, "--id", "dév-7", "--split", "dev")
    drawn = [show(capsys, folder, "--split", "train", "--random", "--seed", seed) for seed in (*range(8), 0)]
    assert drawn[0] == drawn[-1]
    assert len(set(drawn)) > 2


def test_an_id_in_a_file_that_spells_letters_in_ascii(folder, capsys):
    (folder / "dev.jsonl").write_text(json.dumps(SAMPLE.to_json()) + "\n")
    assert "\\u00e9" in (folder / "dev.jsonl").read_text()
    assert "How many films?" in show(capsys, folder, "--id", "dév-7")


def test_json(folder, capsys):
    found = json.loads(show(capsys, folder, "--id", "dév-7", "--json"))
    assert Example.from_json(found) == SAMPLE
    assert (found["split"], found["number"], found["gold"]) == ("dev", 1, [0, 2, 10])


def test_drawings(folder, tmp_path, capsys):
    show(capsys, folder, "--id", "dév-7", "--draw", tmp_path / "g.PNG")
    header = (tmp_path / "g.PNG").read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert min(struct.unpack(">II", header[16:24])) > 100
    show(capsys, folder, "--id", "dév-7", "--draw", tmp_path / "g.html")
    before = (tmp_path / "g.html").read_text(encoding="utf-8")
    assert "Ada Berg made Winter." in before
    show(capsys, folder, "--draw", tmp_path / "g.html", "--overwrite")
    assert (tmp_path / "g.html").read_text(encoding="utf-8") != before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--id", "dev-9"], r"no sample 'dev-9' among 16, for example 'train-0'"),
        (["--id", "dév-7", "--split", "train"], r"data, train: no sample 'dév-7' among 9, for example 'train-0'"),
        (["--number", "5"], r"no number 5 in test, allowed: 0 to 4"),
        (["--number", "-1"], r"no number -1 in test, allowed: 0 to 4"),
        (["--draw", "graph.gif"], r"graph.gif: unknown kind of drawing '.gif', allowed: .png, .svg, .html"),
    ],
)
def test_refusals(folder, capsys, arguments, said):
    with pytest.raises(DataError, match=said):
        show(capsys, folder, *arguments)


def test_other_refusals(folder, tmp_path, capsys):
    (tmp_path / "g.png").write_text("mine")
    with pytest.raises(DataError, match=r"g\.png: exists already; give --overwrite"):
        show(capsys, folder, "--draw", tmp_path / "g.png")
    assert (tmp_path / "g.png").read_text() == "mine"
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(DataError, match=r"folder\.png: is a folder"):
        show(capsys, folder, "--draw", tmp_path / "folder.png", "--overwrite")
    (folder / "test.jsonl").write_text("")
    with pytest.raises(DataError, match="no samples in test"):
        show(capsys, folder)
    with pytest.raises(DataError, match=r"test\.jsonl: no such file"):
        show(capsys, tmp_path / "none")
    (folder / "test.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"line 1: .*'id' is missing"):
        show(capsys, folder)
    with pytest.raises(SystemExit):
        show(capsys, folder, "--id", "a", "--number", 1)
