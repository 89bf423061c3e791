"""Files are never half-written, and every error names its file."""

import errno
import hashlib
import os
import signal
import subprocess
import sys

import pytest

from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.checksums import SUMS
from bgr.utils.hashing import hash_files


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
    with pytest.raises(DataError, match="not a regular file"):
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
    assert sorted(p.name for p in target.iterdir()) == [SUMS, "new.txt"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


WRITER = """
import sys
from bgr.utils.atomic_io import output_folder
with output_folder(sys.argv[1], overwrite=True) as work:
    (work / "a.txt").write_text("half")
    print(work, flush=True)
    sys.stdin.read()
"""


def writer(target):
    """A process that has begun to write `target`, and the folder it writes in."""
    command = [sys.executable, "-c", WRITER, str(target)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def end(process, by):
    process.send_signal(by)
    process.communicate()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "out"
    dead, half = writer(target)
    end(dead, signal.SIGKILL)
    living, whole = writer(target)
    try:
        assert not os.path.exists(half)
        with output_folder(target) as work:
            (work / "b.txt").write_text("b")
        assert os.path.exists(whole), "a folder that somebody writes must stay"
    finally:
        end(living, signal.SIGKILL)
    with output_folder(target, overwrite=True):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_old_folder_is_kept_until_the_new_one_is_whole(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.txt").write_text("old")
    replace, calls = os.replace, []

    def killed_between(source, to):
        calls.append(to)
        if len(calls) == 2:
            raise KeyboardInterrupt
        replace(source, to)

    monkeypatch.setattr(os, "replace", killed_between)
    with pytest.raises(KeyboardInterrupt), output_folder(target, overwrite=True, sums=False):
        pass
    monkeypatch.undo()
    (old,) = tmp_path.glob(".out.*/old/old.txt")
    with pytest.raises(RuntimeError), output_folder(target):
        raise RuntimeError
    assert old.exists()
    with output_folder(target):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_old_folder_is_back_where_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.txt").write_text("old")
    replace, calls = os.replace, []

    def full(source, to):
        calls.append(to)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, to)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with (
            pytest.raises(DataError, match="out: cannot be written: No space left on device"),
            output_folder(target, overwrite=True, sums=False),
        ):
            pass
    assert calls[1] == target
    assert [path.name for path in target.iterdir()] == ["old.txt"]
    with output_folder(target, overwrite=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_in_the_way_stays(tmp_path, overwrite):
    (tmp_path / "file").write_text("mine")
    for place, said in (("file", "not a folder; name another place"), ("file/deep/out", "cannot be written: ")):
        with (
            pytest.raises(DataError, match=f"{place}: {said}") as error,
            output_folder(tmp_path / place, overwrite=overwrite),
        ):
            pass
        assert "\n" not in str(error.value)
    assert (tmp_path / "file").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_folders_of_other_names_stay(tmp_path):
    others = [".out.settings", ".out2.bgr-half-x", ".out.x.bgr-half-y"]
    for name in others:
        (tmp_path / name).mkdir()
    with output_folder(tmp_path / "out"):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*others, "out"])


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
