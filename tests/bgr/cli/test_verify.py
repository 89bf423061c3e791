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


def test_another_folder_is_refused(bgr, tmp_path):
    assert bgr("verify", tmp_path / "none")[2].endswith("not a folder")
    assert "neither a checkpoint" in bgr("verify", tmp_path, "--write")[2]
