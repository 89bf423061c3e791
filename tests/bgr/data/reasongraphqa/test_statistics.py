"""Tables 1 to 3 and Figure 3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bgr.data.example import STRUCTURES, Example
from bgr.data.reasongraphqa.io.statistics import KQAPRO, PAPER, dataset_statistics, draw_statistics, statistics_text
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


def test_questions_without_an_answer_are_counted_apart(splits):
    gaps = {"5": "one", "6": "all", "7": "one", "8": None}
    splits["dev"] += [replace(example(name, []), missing=missing) for name, missing in gaps.items()]
    found = dataset_statistics(splits)
    assert found["questions"]["dev"] == 1
    assert found["unanswerable"] == {"train": 0, "dev": 4, "test": 0, "total": 4}
    assert found["missing"]["dev"] == found["missing"]["total"] == {"one": 2, "all": 1}
    assert found["missing"]["train"] == {"one": 0, "all": 0}
    rows = [line.split() for line in statistics_text(found).splitlines() if " missing " in line]
    assert rows == [["one", "missing", "0", "2", "0", "2"], ["all", "missing", "0", "1", "0", "1"]]


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


def test_words_and_beginnings_of_all_questions():
    texts = ["What is it?"] * 15 + ["Which film is the longest of them all?"] * 4 + ["Yes?"]
    questions = [replace(example(str(n), CHAIN), question=text) for n, text in enumerate(texts)]
    lost = replace(example("lost", []), graph=EvidenceGraph(), answer="", question="WHAT  is lost?")
    found = dataset_statistics({"train": questions, "dev": [lost], "test": []})
    assert found["words"] == {"mean": pytest.approx((15 * 3 + 4 * 8 + 1 + 3) / 21), "95 %": 8}
    assert found["beginnings"] == {
        "what is": pytest.approx(100 * 16 / 21),
        "which film": pytest.approx(100 * 4 / 21),
        "yes?": pytest.approx(100 / 21),
    }
    table = statistics_text(found).split("Wording of the questions\n")[1].split("\n\n")[0]
    rows = [line.split("  ") for line in table.splitlines()]
    assert [part.strip() for part in rows[3] if part] == ["commonest beginnings", "what is 76.2 %", "what is 20.6 %"]
    assert [part.strip() for part in rows[-1] if part] == ["was the 1.4 %"]
    assert len(rows) == 3 + len(KQAPRO["beginnings"])


def test_a_twentieth_of_the_questions_is_longer_than_the_95_percent():
    questions = [replace(example(str(n), CHAIN), question="word " * n) for n in range(1, 101)]
    assert dataset_statistics({"train": questions, "dev": [], "test": []})["words"] == {"mean": 50.5, "95 %": 95}


def test_an_empty_dataset_has_statistics():
    text = statistics_text(dataset_statistics({"train": [], "dev": [], "test": []}))
    assert "total" in text


def test_figure(tmp_path, splits):
    path = tmp_path / "figure.png"
    draw_statistics(dataset_statistics(splits), path)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(DataError, match="cannot be drawn"):
        draw_statistics(dataset_statistics(splits), tmp_path / "figure.docx")
