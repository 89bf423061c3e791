import os

import pytest

from bgr.errors import DataError
from bgr.utils.cache import ChunkCache
from bgr.utils.hashing import hash_texts

NAME = hash_texts("model", "a sentence")


def test_kept_and_found_again(tmp_path):
    kept = ChunkCache(tmp_path / "work", "vectors")
    assert kept.load(NAME) is None
    kept.save(NAME, b"body")
    assert kept.load(NAME) == b"body"
    assert ChunkCache(tmp_path / "work", "sentences").load(NAME) is None
    kept.save(NAME, b"")
    assert kept.load(NAME) == b""


@pytest.mark.parametrize(
    "harm", [lambda raw: raw[:-1], lambda raw: raw[:10], lambda raw: b"x" + raw[1:], lambda _: b""]
)
def test_a_damaged_chunk_counts_as_none(tmp_path, harm):
    kept = ChunkCache(tmp_path, "vectors")
    kept.save(NAME, b"body")
    [file] = tmp_path.iterdir()
    file.write_bytes(harm(file.read_bytes()))
    assert kept.load(NAME) is None


def test_what_killed_processes_left_is_removed_when_it_is_old(tmp_path):
    kept = ChunkCache(tmp_path, "vectors")
    old, new, other = (tmp_path / f".{name}.vectors.abc{n}.half" for n, name in ((1, NAME), (2, NAME), (3, "0" * 64)))
    for half in (old, new, other):
        half.write_bytes(b"half")
    for half in (old, other):
        os.utime(half, (1, 1))
    kept.save(NAME, b"body")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / f"{NAME}.vectors", new, other])


def test_clearing_leaves_what_is_not_ours(tmp_path):
    kept = ChunkCache(tmp_path / "work", "vectors")
    kept.clear()  # nothing there yet
    kept.save(NAME, b"body")
    (kept.folder / f"{NAME}.vectors.abc.half").write_bytes(b"of a killed run")
    (kept.folder / f"{NAME}.sentences").write_bytes(b"another kind")
    kept.clear()
    assert [file.name for file in kept.folder.iterdir()] == [f"{NAME}.sentences"]
    ChunkCache(kept.folder, "sentences").clear()
    assert not kept.folder.exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        ChunkCache(tmp_path / "file", "vectors").save(NAME, b"body")


def test_names_tell_parts_apart():
    assert hash_texts("ab", "c") != hash_texts("a", "bc") != hash_texts("abc")
    assert len(NAME) == 64
