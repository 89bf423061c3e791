"""The bench of the graph edit distance on a few pairs: agreement, output forms, bad input, and random pairs."""

import json
import random
from pathlib import Path

import networkx as nx
import pytest

from bgr.cli import main
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from eval.bench import ged as bench_module
from eval.bench.ged import (
    against_networkx,
    bench_ged,
    everyday_pairs,
    large_pairs,
    networkx_distance,
    networkx_graph,
    read_predictions,
)
from eval.bench.options import GedBenchOptions

GOLD = [[-1, 0], [0, 1]]
RECORDS = [
    {"edges": GOLD, "predictions": {"good": {"edges": [[-1, 0, 0.9], [0, 1, 0.8]]}, "flat": {"edges": [[-1, 0, 0.5]]}}},
    {"edges": GOLD, "predictions": {"good": {"edges": [[-1, 0, 0.9]]}, "flat": {"edges": []}}},
]


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def test_command_prints_the_three_parts(predictions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "ged", "--pairs", "6", "--large", "1", "--seconds", "0.02", "--predictions", str(predictions)]
    assert main(command) == 0
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["unlabeled"][1:3] == rows["labeled"][1:3] == ["6", "6"]
    assert rows["unrelated, labeled"][2:4] == ["24", "1"]
    assert rows["good"][1] == rows["flat"][1] == "2"


@pytest.mark.slow
def test_command_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "ged", "--pairs", "6", "--large", "1", "--seconds", "0.02", "--seed", "3", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(part["pairs"], part["differing"]) for part in result["against"]] == [(6, []), (6, [])]
    for part in result["against"]:
        assert part["ratio"] == pytest.approx(part["networkx_seconds"] / part["ours_seconds"])
    assert [part["facts"] for part in result["large"]] == [12] * 4 + [18] * 4 + [24] * 4
    assert result["scoring"] == []


def test_a_wrong_distance_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*everyday_pairs(3, random.Random(0)), (EvidenceGraph([(-1, 0)]), EvidenceGraph([(-1, 0), (-1, 1)]))]
    monkeypatch.setattr(bench_module, "networkx_distance", lambda a, b, labeled: 99)
    found = against_networkx(pairs, labeled=False)
    assert len(found["differing"]) == 4
    assert found["differing"][-1] == "unlabeled, [[-1, 0]] and [[-1, 0], [-1, 1]]: networkx 99, ours 2 to 2"
    assert bench_ged(GedBenchOptions(pairs=0, large=0)).error is None
    assert str(bench_ged(GedBenchOptions(pairs=2, large=0)).error).startswith(
        "4 distances differ from networkx's; unlabeled, "
    )


def test_predictions_are_scored(predictions: Path) -> None:
    good, flat = bench_ged(GedBenchOptions(pairs=0, large=0, predictions=predictions)).data["scoring"]
    assert (good["system"], good["pairs"], good["compared"], good["differing"]) == ("good", 2, 2, [])
    assert (flat["system"], flat["not_exact"]) == ("flat", 0)
    assert read_predictions(predictions)["flat"][1] == (EvidenceGraph(), EvidenceGraph([(-1, 0), (0, 1)]))


def test_a_line_separator_within_a_text_ends_no_line(predictions: Path) -> None:
    first, *others = predictions.read_text().split("\n")
    text = json.dumps({**json.loads(first), "question": "one\u2028two"}, ensure_ascii=False)
    predictions.write_text("\n".join([text, *others]))
    assert len(read_predictions(predictions)["flat"]) == 2


def test_predictions_too_large_for_networkx_are_scored(tmp_path: Path) -> None:
    chain = [[n - 1, n] for n in range(8)]
    path = tmp_path / "predictions.jsonl"
    path.write_text(json.dumps({"edges": chain, "predictions": {"good": {"edges": chain}}}))
    (good,) = bench_ged(GedBenchOptions(pairs=0, large=0, predictions=path)).data["scoring"]
    assert (good["pairs"], good["compared"], good["networkx_us"]) == (1, 0, 0)


@pytest.mark.parametrize(
    "line", ["[]", "{}", '{"edges": 3, "predictions": {}}', '{"edges": [], "predictions": {"x": 1}}']
)
def test_other_files_are_refused(line: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps(RECORDS[0]) + "\n" + line + "\n")
    with pytest.raises(DataError, match=r"other\.jsonl: line 2"):
        read_predictions(path)
    with pytest.raises(DataError, match=r"missing\.jsonl"):
        read_predictions(tmp_path / "missing.jsonl")


def test_networkx_maps_the_roots_onto_each_other() -> None:
    wide = networkx_graph(EvidenceGraph([(-1, 0), (-1, 1), (-1, 2)]))
    low = networkx_graph(EvidenceGraph([(-1, 3), (3, 0), (3, 1), (3, 2)]))
    assert networkx_distance(wide, low, labeled=False) == 6
    assert nx.graph_edit_distance(wide, low) == 2  # any node for the root


def test_pairs_are_drawn_by_seed() -> None:
    assert everyday_pairs(50, random.Random(1)) == everyday_pairs(50, random.Random(1))
    assert everyday_pairs(50, random.Random(1)) != everyday_pairs(50, random.Random(2))
    sizes = [len(gold.nodes) for _, gold in everyday_pairs(400, random.Random(1))]
    assert set(sizes) == {1, 2, 3, 4, 5, 6, 7}
    assert all(len(a.nodes) == len(b.nodes) == 12 for a, b in large_pairs(12, 5, random.Random(1), related=False))
    related = large_pairs(12, 30, random.Random(1), related=True)
    assert {len(gold.nodes) for _, gold in related} == {12}
    assert all(6 <= len(a.nodes) <= 18 and len(a.edges ^ b.edges) <= 18 for a, b in related)
