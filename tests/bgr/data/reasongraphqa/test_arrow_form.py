"""The Arrow form of a dataset is compared with its lines, and damaged files are read safely."""

from __future__ import annotations

import json
import shutil

import pytest
from datasets import Dataset

from bgr.data.reasongraphqa.checks.verify import check_arrow
from bgr.errors import DataError


@pytest.fixture
def data(toy_data, tmp_path):
    return shutil.copytree(toy_data, tmp_path / "data")


def arrow_file(data, split="train"):
    (path,) = (data / "arrow" / split).glob("*.arrow")
    return path


def test_a_good_one(data):
    check_arrow(data)


def test_a_line_that_was_changed(data):
    lines = (data / "dev.jsonl").read_text().splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), "answer": "other"})
    (data / "dev.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"arrow/dev: differs from the sample of .*dev\.jsonl: line 3"):
        check_arrow(data)


def test_fewer_and_more_rows(data):
    lines = (data / "test.jsonl").read_text().splitlines(keepends=True)
    (data / "test.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match=r"arrow/test: has more samples than test\.jsonl"):
        check_arrow(data)
    (data / "test.jsonl").write_text("".join([*lines, lines[0]]))
    with pytest.raises(DataError, match="line 11"):
        check_arrow(data)


@pytest.mark.parametrize("harm", [lambda raw: raw[:-300], lambda raw: b"", lambda raw: bytes(len(raw))])
def test_a_damaged_file(data, harm):
    path = arrow_file(data)
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(DataError, match="arrow/train"):
        check_arrow(data)


def test_every_flipped_byte_is_reported_or_harmless(data):
    path = arrow_file(data)
    raw, before = path.read_bytes(), Dataset.from_file(str(path)).to_list()
    told = 0
    for place in range(0, len(raw), 97):
        harmed = bytearray(raw)
        harmed[place] ^= 0xFF
        path.write_bytes(bytes(harmed))
        try:
            check_arrow(data)
        except DataError:
            told += 1
        else:
            assert Dataset.from_file(str(path)).to_list() == before
    assert told > 20


def test_files_outside_the_folder_are_not_read(data):
    state = data / "arrow" / "train" / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "_data_files": [{"filename": "../dev/x.arrow"}]}))
    with pytest.raises(DataError, match="allowed: a file in the same folder"):
        check_arrow(data)


@pytest.mark.parametrize("name", ["state.json", "dataset_info.json"])
def test_descriptions(data, name):
    path = data / "arrow" / "dev" / name
    path.write_text("[]")
    with pytest.raises(DataError, match="arrow"):
        check_arrow(data)
    path.unlink()
    with pytest.raises(DataError, match="arrow"):
        check_arrow(data)
