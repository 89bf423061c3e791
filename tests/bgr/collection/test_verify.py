"""Hashes of files: any changed byte is found, in folders of all formats, and compaction copies no damage."""

from __future__ import annotations

import json
import os

import pytest

from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.errors import DataError

CORPUS = Corpus(Passage(f"p{n}", "", f"fact {n}") for n in range(9))
NEW = [Passage("new", "", "another fact")]
FILES = {"passages.jsonl"} | {
    f"{name}.npy" for name in ("vectors", "words", "word_ends", "starts", "rows", "counts", "lengths")
}


@pytest.fixture
def folder(tmp_path, encoder):
    """Two segments and a list of deleted rows."""
    index = Collection.build(CORPUS, tmp_path / "index", encoder=encoder, key="hash")
    index.add(NEW)
    index.delete(["p3"])
    return tmp_path / "index"


def as_old(folder):
    """The folder as the version before hashes wrote it."""
    path = folder / "manifest.json"
    row = json.loads(path.read_text())
    for piece in (*row["segments"], row["deleted"]):
        del piece["sha256"]
    path.write_text(json.dumps({**row, "format": 1}))


def test_every_file_has_its_hash(folder):
    manifest = Collection.open(folder, encoder=None).manifest
    names = [f"{piece.name}/{file}" for piece in manifest.segments for file in sorted(FILES)]
    assert [file for piece in manifest.segments for file in piece.sha256] == names
    found = Collection.open(folder, encoder=None).verify()
    assert (found.files, found.unhashed) == (2 * len(FILES) + 1, ())
    assert found.bytes == sum((folder / name).stat().st_size for name in [*names, manifest.deleted.name])


@pytest.mark.parametrize("place", [0, 0.5, -1])
@pytest.mark.parametrize("name", sorted(FILES) + ["deleted"])
def test_a_changed_byte_is_found(folder, encoder, name, place):
    file = folder / "deleted-000003" if name == "deleted" else folder / "segment-000001" / name
    raw = bytearray(file.read_bytes())
    raw[int(place * len(raw)) if place >= 0 else -1] ^= 1
    file.write_bytes(raw)
    for check in (Collection.verify, Collection.compact):
        with pytest.raises(DataError, match="build the collection again") as error:  # some are found when it is opened
            check(Collection.open(folder, encoder=encoder, key="hash"))
        assert "\n" not in str(error.value)
    if name == "vectors.npy" and place:
        with pytest.raises(DataError, match=r"index: segment-000001/vectors.npy: not what was written"):
            Collection.open(folder, encoder=None).verify()


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_pipe_never_blocks(folder, encoder, name):
    path = folder / "segment-000001" / name
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match=rf"{name}(: not a regular file|.* build the collection again)"):
        Collection.open(folder, encoder=encoder, key="hash").verify()


def test_a_missing_file_and_one_that_is_not_ours(folder):
    (folder / "segment-000002" / "notes.txt").write_text("a user's")
    assert Collection.open(folder, encoder=None).verify().unhashed == ()
    (folder / "segment-000002" / "more.npy").write_text("a user's")
    assert Collection.open(folder, encoder=None).verify().unhashed == ("segment-000002/more.npy",)
    index = Collection.open(folder, encoder=None)
    for name in FILES:
        (folder / "segment-000001" / name).unlink()
    with pytest.raises(DataError, match=r"segment-000001/counts.npy, .* and 5 more: not what was written"):
        index.verify()


def test_a_folder_without_hashes_is_read_and_gets_them_when_it_changes(folder, encoder):
    as_old(folder)
    index = Collection.open(folder, encoder=encoder, key="hash")
    found = index.verify()
    assert (found.files, found.bytes, len(found.unhashed)) == (0, 0, 2 * len(FILES) + 1)
    index.add([Passage("newer", "", "a third fact")])
    assert (index.verify().files, len(index.verify().unhashed)) == (len(FILES), 2 * len(FILES) + 1)
    assert json.loads((folder / "manifest.json").read_text())["format"] == 3
    index.compact()
    assert (index.verify().files, index.verify().unhashed) == (len(FILES), ())
    assert [passage.id for passage in index.corpus] == ["p0", "p1", "p2", "p4", "p5", "p6", "p7", "p8", "new", "newer"]


@pytest.mark.parametrize(
    "sha256",
    [
        None,
        [],
        {"segment-000001/vectors.npy": "0"},
        {"segment-000001/vectors.npy": 5},
        {"segment-000001/../../vectors.npy": "0" * 64},
        {"segment-000002/vectors.npy": "0" * 64},
        {"/etc/passwd": "0" * 64},
    ],
)
def test_hashes_that_are_none_are_an_error_of_one_line(folder, sha256):
    path = folder / "manifest.json"
    row = json.loads(path.read_text())
    row["segments"][0]["sha256"] = sha256
    path.write_text(json.dumps(row))
    with pytest.raises(DataError, match=r"^[^\n]*sha256[^\n]*build the collection again$"):
        Collection.open(folder, encoder=None)
