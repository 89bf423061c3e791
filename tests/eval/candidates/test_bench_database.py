"""`bgr bench database`: growth of time and memory with the number of sentences."""

import json

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.checks.verify import FactTable


@pytest.fixture
def bench(split_films, pruned_checkpoint, tmp_path):
    Collection.build(FactTable.read(split_films).sentences, tmp_path / "facts", encoder=None)
    words = ["--checkpoint", pruned_checkpoint, "--data", split_films, "--collection", tmp_path / "facts"]
    return lambda *more: main(["bench", "database", *map(str, words), *more])


@pytest.mark.workflow
def test_each_size_has_its_row(bench, tmp_path, capsys):
    (tmp_path / "work").mkdir()
    plot = tmp_path / "growth.png"
    words = ["--sizes", 20, 9999, "--questions", 2, "--work", tmp_path / "work", "--plot", plot]
    assert bench(*map(str, words), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["sentences"] for row in rows] == [20, 44]
    for row in rows:
        assert row["ms"] > row["search_ms"] > 0
        assert row["single_ms"] > row["floor_ms"] > 0
        assert row["ask_gb"] > 0.1
    assert not any((tmp_path / "work").iterdir())
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert bench("--plot", str(plot)) == 1
    assert "growth.png: exists already; give --overwrite" in capsys.readouterr().err


def test_no_test_questions(bench, films, capsys):
    assert bench("--data", str(films / "missing")) != 0
    assert "missing" in capsys.readouterr().err
