"""Open files do not grow with the number of additions, and too many of them are not taken for damage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = """
import os, resource, sys
sys.path.insert(0, sys.argv[1])
from conftest import HashEncoder
from bgr.collection.collection import Collection
from bgr.errors import DataError

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
"""

MANY = """
index = Collection.build(["a first text"], sys.argv[2], encoder=HashEncoder(), key="hash")
for number in range(120):
    index.add([f"text {number}"])
again = Collection.open(sys.argv[2], encoder=HashEncoder(), key="hash")
for one in (index, again):
    assert one.bm25.search(["77"], 1)[0].indices.tolist() == [78]
    assert one.dense.search(["text 77"], 1)[0].indices.tolist() == [78]
again.compact()
assert (len(again.manifest.segments), len(again.corpus)) == (1, 121)
"""

NONE_LEFT = """
index = Collection.build(["a first text"], sys.argv[2], encoder=HashEncoder(), key="hash")
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    pass
for use in (lambda: index.bm25, lambda: index.vectors, index.verify, lambda: index.corpus,
            lambda: Collection.open(sys.argv[2], encoder=None), lambda: index.add(["more"])):
    try:
        use()
    except DataError as error:
        assert "Too many open files" in str(error), error
        assert "damaged" not in str(error) and "build" not in str(error), error
    else:
        raise AssertionError(use)
os.close(held.pop())
os.close(held.pop())
assert index.bm25.search(["first"], 1)[0].indices.tolist() == [0]
index.vectors
"""


def run(code, folder):
    words = [sys.executable, "-c", START + code, str(Path(__file__).parent), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.workflow
def test_many_additions_and_a_compaction_with_few_open_files(tmp_path):
    run(MANY, tmp_path / "index")


@pytest.mark.workflow
def test_too_many_open_files_are_no_damage(tmp_path):
    run(NONE_LEFT, tmp_path / "index")
