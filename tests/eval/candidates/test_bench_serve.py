"""`bgr bench serve`: a server under load, over a small collection."""

import json

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.checks.verify import FactTable


@pytest.mark.slow
def test_clients_and_a_full_queue(split_films, pruned_checkpoint, tmp_path, capsys):
    Collection.build(FactTable.read(split_films).sentences, tmp_path / "facts", encoder=None)
    words = ["--checkpoint", pruned_checkpoint, "--data", split_films, "--collection", tmp_path / "facts"]
    words += ["--clients", 1, 8, "--seconds", 4, "--questions", 3, "--json"]
    assert main(["bench", "serve", *map(str, words)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["clients"] for row in found["rows"]] == [1, 8]
    for row in found["rows"]:
        assert (row["failed"], row["refused"]) == (0, 0)
        assert row["answered"] > 0
        assert row["p50_ms"] <= row["p95_ms"] <= row["max_ms"]
        assert row["share"] > 0
        assert 0.1 < row["memory_gb"] < 10
    full = found["full_queue"]
    assert full["failed"] == 0
    assert full["refused"] > 0
    assert full["answered"] > 0
