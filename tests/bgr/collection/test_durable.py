"""What is on the disk before the only old copy is removed: new files, their names, and the manifest."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage

CORPUS = Corpus(Passage(f"p{n}", "", f"fact {n}") for n in range(9))


@pytest.fixture
def events(monkeypatch):
    """The files and folders that were synchronized, replaced and removed, in order."""
    found: list[tuple[str, str]] = []

    def watch(module, name, kind, path_of):
        real = getattr(module, name)

        def call(*args, **options):
            found.append((kind, path_of(args)))
            return real(*args, **options)

        monkeypatch.setattr(module, name, call)

    watch(os, "fsync", "sync", lambda args: os.readlink(f"/proc/self/fd/{args[0]}"))
    watch(os, "replace", "replace", lambda args: str(args[1]))
    watch(shutil, "rmtree", "remove", lambda args: str(args[0]))
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names open files by /proc")
@pytest.mark.parametrize("change", ["compact", "build"])
def test_a_new_state_is_on_the_disk_before_the_old_one_goes(tmp_path, encoder, events, change):
    folder = tmp_path / "index"
    index = Collection.build(CORPUS, folder, encoder=encoder, key="hash")
    index.add([Passage("new", "", "another fact")])
    events.clear()
    if change == "compact":
        index.compact()
    else:
        index = Collection.build(CORPUS, folder, encoder=encoder, key="hash", overwrite=True)
    (piece,) = index.manifest.segments
    new = {str(folder / name) for name in (*piece.sha256, piece.name)}
    renamed = events.index(("replace", str(folder / "manifest.json")))
    before, after = events[:renamed], events[renamed + 1 :]
    assert new <= {path for kind, path in before if kind == "sync"}
    halves = [Path(path).name for kind, path in before if kind == "sync" and path.endswith(".half")]
    assert [name.startswith(".manifest.json.") for name in halves] == [True]
    assert ("sync", str(folder)) in before
    assert not [path for kind, path in before if kind == "remove" and "segment" in path]
    removed = [number for number, (kind, path) in enumerate(after) if kind == "remove" and "segment" in path]
    assert after.index(("sync", str(folder))) < removed[0]
    assert len(removed) == 2
    old = {str(folder / f"segment-00000{n}" / "words.npy") for n in (1, 2)}
    assert not old & {path for kind, path in events if kind == "sync"}  # only new pieces are waited for
