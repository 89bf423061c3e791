"""Nothing half-written, and every error names its file."""

import hashlib

import pytest

from bgr.errors import DataError
from bgr.files import hash_files, output_folder, read_json


def test_read_json_errors_name_file_and_place(tmp_path):
    with pytest.raises(DataError, match=r"none\.json: no such file"):
        read_json(tmp_path / "none.json")
    cut = tmp_path / "cut.json"
    cut.write_text('{"a": 1,\n "b": ')
    with pytest.raises(DataError, match=r"cut\.json: not valid JSON at line 2, column 7"):
        read_json(cut)
    cut.write_bytes(b'"\xff"')
    with pytest.raises(DataError, match=r"cut\.json: cannot be read"):
        read_json(cut)
    with pytest.raises(DataError, match="cannot be read"):
        read_json(tmp_path)


def test_read_json(tmp_path):
    path = tmp_path / "ok.json"
    path.write_text('{"name": "Ingmar Bergman é"}', encoding="utf-8")
    assert read_json(path) == {"name": "Ingmar Bergman é"}


def test_output_appears_only_when_the_block_ends_well(tmp_path):
    target = tmp_path / "deep" / "out"
    with output_folder(target) as work:
        (work / "a.txt").write_text("a")
        assert not target.exists()
    assert (target / "a.txt").read_text() == "a"
    assert [p.name for p in target.parent.iterdir()] == ["out"]


def test_an_error_leaves_nothing(tmp_path):
    def fail() -> None:
        with output_folder(tmp_path / "out") as work:
            (work / "a.txt").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_kept_unless_told(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with pytest.raises(DataError, match="--overwrite"), output_folder(target):
        pass
    with pytest.raises(RuntimeError), output_folder(target, overwrite=True):
        raise RuntimeError
    assert (target / "old.txt").exists()
    with output_folder(target, overwrite=True) as work:
        (work / "new.txt").write_text("new")
    assert [p.name for p in target.iterdir()] == ["new.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_counts_as_free(tmp_path):
    (tmp_path / "out").mkdir()
    with output_folder(tmp_path / "out") as work:
        (work / "a.txt").write_text("a")
    assert (tmp_path / "out" / "a.txt").exists()


def test_hash_covers_names_contents_and_order(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    assert hash_files(tmp_path, ["a", "b"]) == hashlib.sha256(b"a\x001b\x002").hexdigest()
    assert hash_files(tmp_path, ["b", "a"]) != hash_files(tmp_path, ["a", "b"])
    before = hash_files(tmp_path, ["a"])
    (tmp_path / "a").write_bytes(b"3")
    assert hash_files(tmp_path, ["a"]) != before
