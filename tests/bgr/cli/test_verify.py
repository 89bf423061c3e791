"""`bgr verify` on checkpoints and collections."""

import json
import shutil

import pytest

from bgr.collection.collection import Collection


@pytest.fixture
def checkpoint(random_checkpoint, tmp_path):
    return shutil.copytree(random_checkpoint, tmp_path / "checkpoint")


def test_a_checkpoint_is_written_down_and_compared(bgr, checkpoint):
    assert bgr("verify", checkpoint)[2].endswith(f"`bgr verify {checkpoint} --write` makes one")
    assert bgr("verify", checkpoint, "--write")[0] == 0
    code, out, _ = bgr("verify", checkpoint, "--json")
    assert (code, json.loads(out)["problems"]) == (0, [])
    with (checkpoint / "forward/model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"?")
    code, out, line = bgr("verify", checkpoint)
    assert code == 1
    assert out.startswith(f"{checkpoint / 'forward/model.safetensors'}: is damaged or was changed")
    assert "1 of " in line


def test_a_collection_is_compared(bgr, tmp_path):
    Collection.build(["One.", "Two."], tmp_path / "texts", encoder=None)
    assert bgr("verify", tmp_path / "texts")[0] == 0
    assert "leave out --write" in bgr("verify", tmp_path / "texts", "--write")[2]


def test_names_and_titles_of_others_do_not_reach_the_terminal(bgr, tmp_path):
    evil = "\x1b[2Jred\x1b]0;own\x07\u202eb\x9b"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "SHA256SUMS").write_text(f"{64 * '0'}  {evil}\n")
    Collection.build([{"id": evil, "title": evil, "text": "Paris."}], tmp_path / "texts", encoder=None)
    for words in (("verify", tmp_path / "data"), ("collection", "search", tmp_path / "texts", "Paris")):
        _, out, _ = bgr(*words)
        assert "red" in out
        assert not any(mark in out for mark in "\x1b\x07\x9b\u202e")


def test_another_folder_is_refused(bgr, tmp_path):
    assert bgr("verify", tmp_path / "none")[2].endswith("not a folder")
    assert "neither a checkpoint" in bgr("verify", tmp_path, "--write")[2]


def test_a_folder_of_folders_and_a_dataset_are_compared(bgr, toy_data, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(toy_data, work / "deep" / "data")
    shutil.copytree(toy_data, work / "older")
    (work / "older" / "SHA256SUMS").unlink()
    Collection.build(["One.", "Two."], work / "texts", encoder=None)
    code, out, _ = bgr("verify", work)
    assert (code, out) == (0, f"{work}: the files of 3 folders are as they were written\n")
    for damaged in ("deep/data/facts.jsonl", "older/test.jsonl", "texts/segment-000001/counts.npy"):
        with (work / damaged).open("ab") as file:
            file.write(b" ")
    code, out, line = bgr("verify", work)
    assert (code, len(out.splitlines())) == (1, 3)
    assert line.endswith("3 problems")
    assert bgr("verify", work / "deep" / "data", "--write")[0] == 0
    assert bgr("verify", work / "deep" / "data")[0] == 0


def test_an_edited_evaluation_is_refused(bgr, toy_data, tmp_path):
    out = tmp_path / "evaluation"
    assert bgr("evaluate", "--data", toy_data, "--baselines", "random", "--out", out)[0] == 0
    assert bgr("verify", out)[0] == 0
    (out / "metrics.json").write_text((out / "metrics.json").read_text() + " ")
    line = bgr("compare", "--data", toy_data, "--systems", out, "--out", tmp_path / "compared")[2]
    assert f"{out / 'metrics.json'}: is damaged or was changed" in line
