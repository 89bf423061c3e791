"""`bgr ablate spelling` from a checkpoint to its report."""

import json

import pytest

from bgr.cli import main
from eval.ablations.spelling import SPELLINGS, WRITTEN, SpellingScores, SpellingStudy


def test_every_spelling_is_asked(small_checkpoint, toy_data, tmp_path, capsys):
    words = ["--checkpoint", str(small_checkpoint), "--data", str(toy_data), "--limit", "3"]
    assert main(["ablate", "spelling", *words, "--out", str(tmp_path / "out"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out" / "spelling.json").read_text())
    assert [one["spelling"] for one in printed["spellings"]] == list(SPELLINGS)
    scores = {one["spelling"]: one for one in printed["spellings"]}
    # the tokenizer of the checkpoint ignores case
    assert {**scores["lower case"], "spelling": WRITTEN} == scores[WRITTEN]
    assert (scores[WRITTEN]["n"], scores[WRITTEN]["exact"], printed["about"]["reader"]) == (3, None, "none")
    assert "| one typing mistake |" in (tmp_path / "out" / "spelling.md").read_text()


def test_the_difference_is_to_the_first_row():
    rows = (SpellingScores(WRITTEN, 0.8, 0.9, 0.75, 4), SpellingScores("lower case", 0.7, 0.9, 0.5, 4))
    table = SpellingStudy(rows, {}).table().as_text()
    assert [line.split()[-2] for line in table.splitlines()[2:]] == ["0.0", "25.0"]


@pytest.mark.parametrize("missing", ["--checkpoint", "--data"])
def test_what_is_missing_is_one_line(missing, small_checkpoint, toy_data, tmp_path, capsys):
    places = {"--checkpoint": small_checkpoint, "--data": toy_data, missing: tmp_path / "none"}
    words = [str(word) for pair in places.items() for word in pair]
    assert main(["ablate", "spelling", *words, "--out", str(tmp_path / "out")]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
