"""Tables 1 to 3 and Figure 3."""

from __future__ import annotations

import pytest

from bgr.data.example import STRUCTURES, Example
from bgr.data.reasongraphqa.io.statistics import PAPER, dataset_statistics, draw_statistics, statistics_text
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

CHAIN = [(ROOT, 0), (0, 1)]
FORK = [(ROOT, 0), (ROOT, 1), (1, 2)]


def example(name, edges, kind="query"):
    return Example(name, "Q?", ("a", "b", "c", "d"), EvidenceGraph(edges), "x", (), kind)


@pytest.fixture
def splits():
    return {
        "train": [example("1", CHAIN), example("2", [(ROOT, 3), (3, 1)], "count"), example("3", FORK)],
        "dev": [example("4", [(ROOT, 2)], "boolean")],
        "test": [],
    }


def test_counts(splits):
    found = dataset_statistics(splits)
    assert found["questions"] == {"train": 3, "dev": 1, "test": 0, "total": 4}
    assert found["structures"]["total"] == {"SC-SH": 1, "SC-MH": 2, "MC-SH": 0, "MC-MH": 1}
    assert found["types"]["train"] == {"query": 2, "comparison": 0, "count": 1, "boolean": 0, "qualifier": 0}
    assert found["graphs"]["chains"] == {"mean": 1.25, "min": 1, "max": 2}
    assert found["graphs"]["hops"] == {"mean": 1.75, "min": 1, "max": 2}
    assert found["graphs"]["facts"] == {"mean": 2.0, "min": 1, "max": 3}
    assert found["graphs"]["candidates"]["mean"] == 4
    assert found["evidence_structures"] == 3
    assert found["structures_of_type"]["query"] == 2
    assert found["reasoning_types"] == 3
    assert found["nodes"] == {"1": 1, "2": 2, "3": 1}


def test_the_papers_figures_add_up():
    for name, counts in PAPER["structures"].items():
        assert sum(counts.values()) == PAPER["questions"][name]
    for structure in STRUCTURES:
        parts = sum(PAPER["structures"][split][structure] for split in ("train", "dev", "test"))
        assert parts == PAPER["structures"]["total"][structure]


def test_text_sets_both_side_by_side(splits):
    text = statistics_text(dataset_statistics(splits))
    assert "2 (50.0 %)" in text
    assert "5,673 (38.6 %)" in text
    assert all(f"Table {n}" in text for n in (1, 2, 3))


def test_an_empty_dataset_has_statistics():
    text = statistics_text(dataset_statistics({"train": [], "dev": [], "test": []}))
    assert "total" in text


def test_figure(tmp_path, splits):
    path = tmp_path / "figure.png"
    draw_statistics(dataset_statistics(splits), path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(DataError, match="cannot be drawn"):
        draw_statistics(dataset_statistics(splits), tmp_path / "figure.docx")
