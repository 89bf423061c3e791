"""Triples of a collection follow all changes of its texts, and are the same on disk, in memory and in a subset."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.openie import write_openie
from bgr.collection.triples.triple import Triple
from bgr.errors import DataError
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage

QUERIES = ["thing 3 of e1", "nothing"]


def passages(start, end):
    return [Passage(f"p{n}", "", f"fact {n} of e{n % 4}") for n in range(start, end)]


def triples_of(texts):
    """None, one or two triples of each text."""
    found = []
    for index, passage in enumerate(texts):
        number = int(passage.id[1:])
        rows = [(f"e{number % 4}", "has", f"thing {number}"), (f"thing {number}", "is", f"e{number % 3}")]
        found += [Triple(*row, index) for row in rows[: number % 3]]
    return found


def same(collection, texts, triples, encoder):
    """Triples, their search and their graph are those of an index that is built over what is left."""
    assert collection.corpus.passages == tuple(texts)
    assert list(collection.triples) == triples
    index, fresh = collection.triple_index, TripleIndex.build(triples, encoder)
    assert index.passages.tolist() == [triple.passage for triple in triples]
    for name in ("head", "tail", "starts", "members"):
        assert np.array_equal(getattr(index, name), getattr(fresh, name))
    for mine, theirs in zip(index.search(QUERIES, 5), fresh.search(QUERIES, 5), strict=True):
        assert mine.indices.tolist() == theirs.indices.tolist()
        assert mine.scores.tolist() == theirs.scores.tolist()


def test_any_changes_leave_what_a_fresh_build_has(tmp_path, encoder):
    draw, left, ids = random.Random(5), passages(0, 12), 12
    folder = tmp_path / "films"
    collection = Collection.build(left, folder, encoder=encoder, key="k", triples=triples_of(left))
    triples = triples_of(left)
    for step in [
        "add",
        "delete",
        "add bare",
        "compact",
        "delete",
        "set",
        "delete",
        "add",
        "compact",
        "delete all",
        "add",
    ]:
        if step.startswith("add"):
            new = passages(ids, ids + draw.randint(2, 6))
            own = triples_of(new) if step == "add" else []
            collection.add(new, own)
            triples = triples + [one._replace(passage=one.passage + len(left)) for one in own]
            left, ids = left + new, ids + len(new)
        elif step == "compact":
            collection.compact()
        elif step == "set":
            encoder.calls.clear()
            known, triples = {one.text for one in triples}, triples_of(left)
            collection.set_triples(triples)
            assert not known & {text for call in encoder.calls for text in call}
        else:
            gone = draw.sample(left, len(left) if "all" in step else len(left) // 3)
            collection.delete(passage.id for passage in gone)
            kept = [passage for passage in left if passage not in gone]
            triples = [
                one._replace(passage=kept.index(left[one.passage])) for one in triples if left[one.passage] in kept
            ]
            left = kept
        same(collection, left, triples, encoder)
        again = Collection.open(folder, encoder=encoder, key="k")
        same(again, left, triples, encoder)
        assert again.verify().unhashed == ()
        names = {path.name for path in folder.iterdir()} - {".lock", "manifest.json"}
        assert names == {piece.name for piece in collection.manifest.pieces}


def test_the_same_triples_again_change_nothing(tmp_path, encoder):
    texts = passages(0, 6)
    collection = Collection.build(texts, tmp_path / "films", encoder=encoder, key="k", triples=triples_of(texts))
    before = {path: path.read_bytes() for path in (tmp_path / "films").rglob("*") if path.is_file()}
    collection.set_triples(triples_of(texts))
    assert {path: path.read_bytes() for path in (tmp_path / "films").rglob("*") if path.is_file()} == before
    same(collection, texts, triples_of(texts), encoder)


def test_in_memory_on_disk_and_in_a_subset(tmp_path, encoder):
    texts = passages(0, 12)
    disk = Collection.build(texts, tmp_path / "films", encoder=encoder, key="k", triples=triples_of(texts))
    memory = Collection.in_memory(
        texts, encoder=encoder, key="k", triples=lambda: triples_of(texts), vectors_cache=tmp_path / "cache"
    )
    chosen = [1, 4, 5, 11]
    some = [texts[index] for index in chosen]
    for collection in (disk, memory):
        same(collection, texts, triples_of(texts), encoder)
        part = collection.subset(chosen)
        same(part, some, triples_of(some), encoder)
        alone = Collection.in_memory(some, encoder=encoder)
        for mine, theirs in ((part.bm25, alone.bm25), (part.dense, alone.dense), (part.hybrid, alone.hybrid)):
            for a, b in zip(mine.search(QUERIES, 3), theirs.search(QUERIES, 3), strict=True):
                assert (a.indices.tolist(), a.scores.tolist()) == (b.indices.tolist(), b.scores.tolist())
    assert disk.hash == memory.hash == Corpus(texts).hash
    assert disk.triples_hash == memory.triples_hash
    encoder.calls.clear()
    again = Collection.in_memory(
        texts, encoder=encoder, key="k", triples=triples_of(texts), vectors_cache=tmp_path / "cache"
    )
    assert len(again.vectors) == len(texts)
    assert len(again.triple_index) == len(triples_of(texts))
    assert encoder.calls == []  # all vectors were kept
    with pytest.raises(DataError, match="in memory has no folder and does not change"):
        memory.delete(["p1"])


def test_in_memory_without_triples_and_without_an_encoder(encoder):
    texts = passages(0, 12)
    for given in ({"encoder": None}, {"encoder": encoder, "key": "k"}):
        bare = Collection.in_memory(texts, **given)
        assert list(bare.triples) == []
        with pytest.raises(DataError, match="in memory: the collection has no triples; import or extract them first"):
            _ = bare.triple_index
    plain = Collection.in_memory(texts, encoder=None, triples=triples_of(texts))
    assert list(plain.triples) == triples_of(texts)
    assert list(plain.subset([1, 4]).triples) == triples_of([texts[1], texts[4]])


def test_half_precision_and_none(tmp_path, encoder):
    texts = passages(0, 12)
    half = Collection.build(texts, tmp_path / "half", encoder=encoder, key="k", triples=triples_of(texts), half=True)
    assert half.triple_index.vectors.dtype == np.float16
    words = Collection.build(texts, tmp_path / "words", encoder=None, triples=triples_of(texts))
    words.delete(["p1"])
    words.compact()
    assert list(words.triples) == triples_of([texts[0], *texts[2:]])
    with pytest.raises(DataError, match="open the collection with its encoder"):
        _ = words.triple_index
    bare = Collection.build(texts, tmp_path / "bare", encoder=encoder, key="k")
    assert list(bare.triples) == []
    with pytest.raises(DataError, match="the collection has no triples; import or extract them first"):
        _ = bare.triple_index


def test_triples_that_are_not_valid_change_nothing(tmp_path, encoder):
    texts = passages(0, 5)
    collection = Collection.build(texts, tmp_path / "films", encoder=encoder, key="k", triples=triples_of(texts))
    with pytest.raises(DataError, match=r"triple 1 .* is of passage 5; allowed: 0 to 4"):
        collection.set_triples([Triple("a", "b", "c", 0), Triple("a", "b", "c", 5)])
    with pytest.raises(DataError, match="subject and object must not be empty"):
        collection.set_triples([Triple("a", "b", " ", 0)])
    with pytest.raises(DataError, match="is of passage 1; allowed: 0 to 0"):
        collection.add([Passage("new", "", "x")], [Triple("a", "b", "c", 1)])
    with pytest.raises(DataError, match="open the collection with its encoder"):
        Collection.open(tmp_path / "films", encoder=None).set_triples([Triple("a", "b", "c", 0)])
    same(Collection.open(tmp_path / "films", encoder=encoder, key="k"), texts, triples_of(texts), encoder)
    file = tmp_path / "films" / "triples-000001" / "places.npy"
    raw = file.read_bytes()
    file.write_bytes(raw[:-8] + (9).to_bytes(8, "little"))
    for use in (lambda one: one.triples, Collection.verify):
        with pytest.raises(DataError, match=r"damaged or changed|a file was damaged"):
            use(Collection.open(tmp_path / "films", encoder=None))
    file.write_bytes(raw)
    vectors = file.with_name("vectors.npy")
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"triples-000001/vectors.npy: not what was written"):
        Collection.open(tmp_path / "films", encoder=None).verify()


def test_imported(tmp_path, encoder):
    texts = passages(0, 12)
    write_openie(tmp_path / "openie.json", Corpus(texts), triples_of(texts))
    built = Collection.build(texts, tmp_path / "films", encoder=encoder, key="k", triples=tmp_path / "openie.json")
    same(built, texts, triples_of(texts), encoder)
    built.set_triples([])
    assert list(built.triples) == []
    assert built.import_triples(tmp_path / "openie.json").rows == len(triples_of(texts))
    same(built, texts, triples_of(texts), encoder)


class Model(LanguageModel):
    """States one triple of each text."""

    def __init__(self):
        self.asked = []

    def ask(self, requests):
        replies = []
        for request in requests:
            number = request.messages[0].content.rsplit("fact ", 1)[1].split()[0]
            self.asked.append(number)
            value = {"entities": [f"e{number}"], "triples": [[f"e{number}", "has", "a thing"]]}
            replies.append(Reply(value, json.dumps(value), None, Usage()))
        return replies


def test_extracted_and_after_an_addition_only_the_new(tmp_path, encoder):
    collection, model = Collection.build(passages(0, 5), tmp_path / "films", encoder=encoder, key="k"), Model()
    assert collection.extract_triples(model, model="m").failures == {}
    assert [one.subject for one in collection.triples] == [f"e{n}" for n in range(5)]
    collection.add(passages(5, 7))
    model.asked.clear()
    collection.extract_triples(model, model="m", batch=1)
    assert model.asked == ["5", "6"]
    assert [(one.subject, one.passage) for one in collection.triples] == [(f"e{n}", n) for n in range(7)]
    Collection.build(passages(0, 3), tmp_path / "films", encoder=None, overwrite=True)  # beside what was extracted


WRITER = """
import os, signal, sys
sys.path[:0] = sys.argv[1:3]
from conftest import HashEncoder
from test_collection_triples import passages, triples_of
from bgr.collection import folder as folders
from bgr.collection.collection import Collection

def stop(*args):
    os.kill(os.getpid(), signal.SIGKILL)

folders.Manifest.write = stop
collection = Collection.open(sys.argv[3], encoder=HashEncoder(), key="k")
if sys.argv[4] == "set":
    collection.set_triples(triples_of(collection.corpus))
elif sys.argv[4] == "add":
    collection.add(passages(6, 9), triples_of(passages(6, 9)))
else:
    collection.delete(["p1", "p2"])
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["set", "add", "delete"])
def test_killed_before_the_manifest(tmp_path, encoder, what):
    texts = passages(0, 6)
    kept = triples_of(texts)[1:]
    Collection.build(texts, tmp_path / "films", encoder=encoder, key="k", triples=kept)
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, here, here, str(tmp_path / "films"), what]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    collection = Collection.open(tmp_path / "films", encoder=encoder, key="k")
    same(collection, texts, kept, encoder)
    collection.verify()
    collection.add(passages(6, 7))
    names = {path.name for path in (tmp_path / "films").iterdir()} - {".lock", "manifest.json"}
    assert names == {piece.name for piece in collection.manifest.pieces}
