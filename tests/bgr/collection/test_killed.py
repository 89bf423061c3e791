"""Writers ended by kill -9: the old collection stays, and the next run encodes nothing again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bgr.collection import segments
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.folder import ENCODED
from bgr.errors import DataError

WRITER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from conftest import HashEncoder
from bgr.collection import folder as folders, segments
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.collection import Collection

folder, what, stop = sys.argv[2:]
segments.CHUNK = 10

def here(*args):
    print("here", flush=True)
    time.sleep(600)

class Slow(HashEncoder):
    def __call__(self, texts):
        if str(len(self.calls)) == stop:
            here()
        return super().__call__(texts)

if stop == "manifest":
    folders.Manifest.write = here
new = [Passage(f"n{n}", "", f"new fact {n}") for n in range(35)]
if what == "build":
    Collection.build(Corpus(new), folder, encoder=Slow(), key="hash", overwrite=True)
else:
    index = Collection.open(folder, encoder=Slow(), key="hash")
    index.add(new) if what == "add" else index.delete(["p0", "p3"])
"""
OLD = Corpus(Passage(f"p{n}", "", f"old fact {n}") for n in range(15))
NEW = [Passage(f"n{n}", "", f"new fact {n}") for n in range(35)]


def kill_when_it_is_there(folder, what, stop):
    command = [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(folder), what, stop]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("what", "stop", "calls"), [("add", "2", 2), ("add", "manifest", 0), ("build", "3", 1), ("delete", "manifest", 0)]
)
def test_the_old_index_stays_and_the_next_run_goes_on(tmp_path, encoder, monkeypatch, what, stop, calls):
    monkeypatch.setattr(segments, "CHUNK", 10)
    folder = tmp_path / "index"
    before = Collection.build(OLD, folder, encoder=encoder, key="hash").manifest
    kill_when_it_is_there(folder, what, stop)
    index = Collection.open(folder, corpus=OLD, encoder=encoder, key="hash")
    assert index.manifest == before
    assert index.dense.search(["old fact 3"], 1)[0].indices.tolist() == [3]
    assert index.bm25.search(["fact 13"], 1)[0].indices.tolist() == [13]
    encoder.calls.clear()
    if what == "delete":
        index.delete(["p0", "p3"])
        expected = [passage for passage in OLD if passage.id not in ("p0", "p3")]
    elif what == "add":
        index.add(NEW)
        expected = [*OLD, *NEW]
    else:
        index = Collection.build(Corpus(NEW), folder, encoder=encoder, key="hash", overwrite=True)
        expected = NEW
    assert len(encoder.calls) == calls
    fresh = Collection.build(Corpus(expected), tmp_path / "fresh", encoder=encoder, key="hash")
    everything = range(len(expected))
    assert index.manifest.corpus == fresh.manifest.corpus
    assert (index.vectors.take(everything) == fresh.vectors.take(everything)).all()
    assert {path.name for path in folder.iterdir()} == {
        ".lock",
        "manifest.json",
        *(piece.name for piece in index.manifest.pieces),
    }


@pytest.mark.workflow
def test_a_first_build_that_was_killed_is_no_index_and_goes_on(tmp_path, encoder, monkeypatch):
    monkeypatch.setattr(segments, "CHUNK", 10)
    folder = tmp_path / "index"
    kill_when_it_is_there(folder, "build", "2")
    with pytest.raises(DataError, match="no collection is there"):
        Collection.open(folder, encoder=None)
    Collection.build(Corpus(NEW), folder, encoder=encoder, key="hash")
    assert [len(call) for call in encoder.calls] == [10, 5]


def test_a_change_that_is_refused_still_removes_what_was_left_half_written(tmp_path, encoder):
    index = Collection.build(OLD, tmp_path / "index", encoder=encoder, key="hash")
    half = tmp_path / "index" / ENCODED / f".{'0' * 64}.vectors.k1x.half"
    half.parent.mkdir()
    half.write_bytes(b"x")
    with pytest.raises(DataError, match="p0"):
        index.add([OLD[0]])
    assert not half.exists()


SIZE = 9_000


@pytest.fixture
def at_size(tmp_path, encoder_folder):
    """``at_size(name, *stops)``: build a collection, add to it, and return the content of its files. A command with a
    condition on the folder is ended by kill -9 when this holds, and repeated."""
    for name, numbers in (("corpus", range(SIZE)), ("more", range(SIZE, 2 * SIZE))):
        lines = (
            json.dumps({"id": f"p{n}", "title": "", "text": f"Fact {n} : Rome lies in {n % 97} ."}) for n in numbers
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))

    def run(words, folder, stop):
        command = [sys.executable, "-m", "bgr", "collection", *words, "--encoder", str(encoder_folder)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while stop is not None and process.poll() is None and not stop(folder):
                time.sleep(0.002)
            if stop is not None:
                process.send_signal(signal.SIGKILL)
            _, error = process.communicate()
        assert process.returncode == (0 if stop is None else -signal.SIGKILL), error

    def call(name, *stops):
        folder = tmp_path / name
        build = ["build", "--corpus", str(tmp_path / "corpus.jsonl"), "--out", str(folder), "--half"]
        add = ["add", str(folder), "--corpus", str(tmp_path / "more.jsonl")]
        for words, stop in zip((build, add), stops, strict=True):
            if stop is not None:
                run(words, folder, stop)
            run(words, folder, None)
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    return call


def is_encoding(folder):
    """The second chunk of vectors is kept."""
    return len(list((folder / ENCODED).glob("*.vectors"))) >= 2


def is_writing(folder):
    """The vectors of a segment that the manifest does not name yet are being written."""
    found = [path.name for path in folder.glob("segment-*") if any(path.glob("*vectors*"))]
    manifest = folder / "manifest.json"
    return any(name not in (manifest.read_text() if manifest.exists() else "") for name in found)


@pytest.mark.slow
def test_a_large_build_and_addition_end_with_the_same_bytes(at_size):
    expected, found = at_size("whole", None, None), at_size("killed", is_encoding, is_writing)
    assert found.keys() == expected.keys()
    assert [file for file in found if found[file] != expected[file]] == []
