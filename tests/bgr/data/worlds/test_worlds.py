"""The small worlds: questions are about the sentences of their world, and `bgr data worlds` writes a dataset."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bgr.cli import main
from bgr.data.own.schema import parse_question
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.data.worlds.worlds import world_lines

LINES = list(world_lines())


def test_no_world_is_in_two_splits_and_each_split_has_unanswerable_questions():
    worlds = {split: {one["facts"][0] for one in LINES if one["split"] == split} for split in ("train", "dev", "test")}
    assert len(set().union(*worlds.values())) == sum(map(len, worlds.values())) >= 60
    assert len({one["id"] for one in LINES}) == len(LINES)
    for split in worlds:
        shares = Counter("answerable" not in one for one in LINES if one["split"] == split)
        assert 0.05 < shares[False] / shares.total() < 0.25, split


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_an_answer_can_be_read_in_the_evidence(split):
    for number, line in enumerate(one for one in LINES if one["split"] == split):
        found = parse_question(json.dumps(line), line["id"], number)
        assert 3 <= len(found.facts) <= 14 or 30 <= len(found.facts) <= 60, line["id"]  # a list, or a world
        evidence = " ".join(found.facts[node] for node in found.evidence).casefold()
        if found.graph is not None and found.type not in ("boolean", "count"):
            assert found.answer.casefold() in evidence, line["id"]
        if found.type == "count":
            assert found.answer.isdigit(), line["id"]


@pytest.mark.workflow
def test_the_command_writes_a_dataset(tmp_path, capsys):
    assert main(["data", "worlds", "--out", str(tmp_path / "worlds")]) == 0
    assert "0 dropped" not in capsys.readouterr().out
    for split in ("train", "dev", "test"):
        written = load_split(tmp_path / "worlds", split, unanswerable=True)
        assert {one.question for one in written} == {one["question"] for one in LINES if one["split"] == split}
    assert main(["data", "worlds", "--out", str(tmp_path / "worlds")]) == 1
    assert "exists already" in capsys.readouterr().err
