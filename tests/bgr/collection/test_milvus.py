"""Milvus: a local database and a server return the results of an exact search in memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bgr.collection import milvus as milvus_collection
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.milvus import MilvusCollection, MilvusSearch
from bgr.collection.search import HybridSearch
from bgr.collection.vectors import DenseSearch, VectorRows
from bgr.errors import BgrError, DataError

pytest.importorskip("pymilvus", reason="Milvus' client is not installed (pip install pymilvus milvus-lite)")

CORPUS = Corpus(Passage(f"p{n}", "", f"fact {n}") for n in range(60))
QUERIES = ["fact 3", "a question", "another"]


def check_all(uri, encoder):
    """Build, change and open again; every answer is that of all products sorted."""

    def same(search, corpus):
        assert search.count() == len(search) == len(corpus)
        fresh = DenseSearch.of_texts([passage.whole for passage in corpus], encoder)
        for k in (1, 5, 100):
            for mine, theirs in zip(search.search(QUERIES, k), fresh.search(QUERIES, k), strict=True):
                assert mine.indices.tolist() == theirs.indices.tolist()
                np.testing.assert_allclose(mine.scores, theirs.scores, atol=1e-6)
            within = [None, np.array([5]), np.arange(2, len(corpus), 3)]
            for mine, theirs in zip(search.search(QUERIES, k, within), fresh.search(QUERIES, k, within), strict=True):
                assert mine.indices.tolist() == theirs.indices.tolist()
                np.testing.assert_allclose(mine.scores, theirs.scores, atol=1e-6)

    collection = MilvusCollection(uri, "facts")
    with pytest.raises(DataError, match="collection facts: no such collection; build it first"):
        MilvusSearch(collection, CORPUS, encoder, key="hash")
    search = MilvusSearch.build(collection, CORPUS, encoder, key="hash")
    same(search, CORPUS)
    other = MilvusSearch.build(MilvusCollection(uri, "triples"), Corpus(CORPUS[:7]), encoder, key="hash")
    same(other, Corpus(CORPUS[:7]))
    search.delete(["p3", "p40"])
    search.insert([Passage("new", "", "a question")])
    left = Corpus([p for p in CORPUS if p.id not in ("p3", "p40")] + [Passage("new", "", "a question")])
    same(search, left)
    assert search.search(["a question"], 1)[0].indices.tolist() == [58]
    with pytest.raises(DataError, match="two passages have the id 'p5'"):
        search.insert([CORPUS[5]])
    with pytest.raises(DataError, match="must have 1 to 1024 bytes"):
        search.insert([Passage("x" * 1025, "", "")])
    with pytest.raises(DataError, match="no passage has the id 'zz'"):
        search.delete(["p1", "zz"])
    with pytest.raises(DataError, match=f"not of the 60 passages, hash {CORPUS.hash[:12]}, given; build it again"):
        MilvusSearch(collection, CORPUS, encoder, key="hash")
    with pytest.raises(DataError, match="built with encoder 'hash', not with 'else'; build it again"):
        MilvusSearch(collection, left, encoder, key="else")
    with pytest.raises(DataError, match="is there already"):
        MilvusSearch.build(collection, CORPUS, encoder, key="hash")
    odd = Corpus(Passage(name, "", f"fact {name}") for name in ("plain", 'a"b', "a\\b", "a'b", "é x", '"] or id != "'))
    strange = MilvusSearch.build(MilvusCollection(uri, "odd"), odd, encoder, key="hash")
    for index in range(len(odd)):
        (hits,) = strange.search(["fact"], 9, [np.array([index])])
        assert hits.indices.tolist() == [index]
    search.encoder = lambda texts: 1 / 0
    with pytest.raises(ZeroDivisionError):
        search.insert([Passage("newer", "", "never encoded")])
    with pytest.raises(DataError, match="left by a change that was interrupted"):
        MilvusSearch(collection, left, encoder, key="hash")
    same(MilvusSearch.build(collection, left, encoder, key="hash", overwrite=True), left)
    same(MilvusSearch(MilvusCollection(uri, "facts"), left, encoder, key="hash"), left)
    assert [len(hits.indices) for hits in search.search(QUERIES, 0)] == [0, 0, 0]


@pytest.mark.workflow
def test_a_local_database_answers_as_memory_does(tmp_path, encoder, monkeypatch):
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")
    monkeypatch.setattr(milvus_collection, "ROWS", 25)
    monkeypatch.setattr(milvus_collection, "QUERIES", 2)
    check_all(str(tmp_path / "local.db"), encoder)


@pytest.fixture
def local(tmp_path):
    """A collection in a local database."""
    pytest.importorskip("milvus_lite", reason="milvus-lite is not installed")
    return MilvusCollection(str(tmp_path / "local.db"), "facts")


def test_what_cannot_be_inserted_leaves_the_old_collection(local, encoder):
    few, odd = Corpus(CORPUS[:7]), Corpus([*CORPUS[:6], Passage("x" * 1025, "", "")])

    def overwrite(corpus, vectors=None, encoder=encoder):
        MilvusSearch.build(local, corpus, encoder, key="hash", vectors=vectors, overwrite=True)

    old = MilvusSearch.build(local, few, encoder, key="hash")
    with pytest.raises(DataError, match="must have 1 to 1024 bytes; nothing was inserted"):
        overwrite(odd)
    vectors = VectorRows([encoder([passage.whole for passage in few])])
    with pytest.raises(ValueError, match="7 vectors for 60 passages"):
        overwrite(CORPUS, vectors)
    with pytest.raises(DataError, match="vectors of 0 dimensions, allowed: 1 to 32,768"):
        overwrite(few, VectorRows([np.zeros((7, 0), np.float32)]))
    with pytest.raises(ZeroDivisionError):
        overwrite(CORPUS, encoder=lambda texts: 1 / 0)
    again = MilvusSearch(local, few, encoder, key="hash")
    assert again.count() == old.count() == 7
    assert again.search(["fact 3"], 1)[0].indices.tolist() == [3]


@pytest.mark.workflow
def test_an_interrupted_build_is_not_complete(local, encoder):
    with pytest.raises(ZeroDivisionError):
        MilvusSearch.build(local, CORPUS, lambda texts: encoder(texts) if texts == [""] else 1 / 0, key="hash")
    for corpus in (CORPUS, Corpus([])):
        with pytest.raises(DataError, match="left by a change that was interrupted"):
            MilvusSearch(local, corpus, encoder, key="hash")
    empty = MilvusSearch.build(local, Corpus([]), encoder, key="hash", vectors=VectorRows([]), overwrite=True)
    assert empty.count() == len(MilvusSearch(local, Corpus([]), encoder, key="hash")) == 0


@pytest.fixture
def server(tmp_path):
    """The address of a server process."""
    program = shutil.which("milvus-lite", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("milvus-lite, which has a server, is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(tmp_path / "server")
    command = [program, "server", "--data-dir", data, "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(120):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.workflow
def test_a_server_answers_as_memory_does(server, encoder):
    check_all(server, encoder)


@pytest.mark.workflow
@pytest.mark.parametrize("size", [2_000, 50_000])
def test_a_server_gives_the_pools_of_the_folder(server, tmp_path, encoder, size):
    """The texts of a folder by words and vectors, one in five a copy of another: pools differ only among ties."""
    texts = [f"fact {n % (size - size // 5)} of place {n % 97}" for n in range(size)]
    folder = Collection.build(texts, tmp_path / "facts", encoder=encoder, key="hash", half=True)
    made = MilvusSearch.build(
        MilvusCollection(server, "facts", timeout=60), folder.corpus, encoder, key="hash", vectors=folder.vectors
    )
    assert made.count() == size
    asked = [f"fact {n} of place {n % 89}" for n in range(0, size, size // 20)]
    for here, there in (
        (folder.dense.search(asked, 200), made.search(asked, 200)),
        (folder.hybrid.search(asked, 200), HybridSearch([folder.bm25, made]).search(asked, 200)),
    ):
        for mine, theirs in zip(here, there, strict=True):
            np.testing.assert_allclose(mine.scores, theirs.scores, atol=1e-5)
            last = float(mine.scores[-1]) + 1e-5  # ties of the last one may be any of their texts
            assert set(mine.indices[mine.scores > last]) == set(theirs.indices[theirs.scores > last])


def test_no_answer_is_one_line_without_the_password():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataError, match=rf"^http://127.0.0.1:{port}, collection facts: [^\n]+$") as error:
        MilvusCollection(f"http://user:hidden@127.0.0.1:{port}", "facts", timeout=0.5)
    assert "hidden" not in str(error.value)
    with pytest.raises(BgrError, match=r"^nowhere, collection facts: [^\n]+$"):
        MilvusCollection("nowhere", "facts")


FORKS = """
import subprocess, sys, threading
from bgr.collection.milvus import MilvusCollection

collection = MilvusCollection(sys.argv[1], "facts")
done = threading.Event()


def ask():
    while not done.is_set():
        collection.exists()


threads = [threading.Thread(target=ask) for _ in range(2)]
for thread in threads:
    thread.start()
codes = {subprocess.run(["true"], preexec_fn=lambda: None).returncode for _ in range(100)}
done.set()
for thread in threads:
    thread.join()
sys.exit(codes != {0})
"""


@pytest.mark.workflow
def test_a_process_may_fork_while_another_thread_asks(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_ENABLE_FORK_SUPPORT"}
    words = [sys.executable, "-c", FORKS, str(tmp_path / "facts.db")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
