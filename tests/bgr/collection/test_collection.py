"""A collection on disk: equal to a new build after any changes, refused if it does not fit or is damaged."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from filelock import FileLock

from bgr.collection import arrays, changes, segments
from bgr.collection.bm25 import Bm25Search
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import HybridSearch
from bgr.collection.vectors import DenseSearch
from bgr.errors import DataError

QUERIES = ["fact about ship 3", "sea 4 and ship", "unheard", ""]


def passages(start, end):
    words = ["ship", "sea", "fish", "port"]
    return [Passage(f"p{n}", f"Title {n % 5}" if n % 3 else "", f"fact {n} {words[n % 4]}") for n in range(start, end)]


def same(index, corpus, encoder, half=False):
    """Everything that the index answers is what fresh searches over the corpus answer."""
    assert index.corpus.passages == corpus.passages
    assert len(index) == len(index.bm25) == len(corpus)
    texts = [passage.whole for passage in corpus]
    fresh = [Bm25Search(texts), DenseSearch.of_texts(texts, rounded(encoder) if half else encoder)]
    fresh[1].encoder = encoder
    for mine, theirs in zip([index.bm25, index.dense, index.hybrid], [*fresh, HybridSearch(fresh)], strict=True):
        for a, b in zip(mine.search(QUERIES, 7), theirs.search(QUERIES, 7), strict=True):
            assert a.indices.tolist() == b.indices.tolist()
            assert np.array_equal(a.scores, b.scores)


def rounded(encoder):
    return lambda texts: encoder(texts).astype(np.float16).astype(np.float32)


@pytest.mark.parametrize("half", [False, True])
def test_any_changes_leave_what_a_fresh_build_has(tmp_path, encoder, half, monkeypatch):
    monkeypatch.setattr(segments, "CHUNK", 8)
    monkeypatch.setattr(changes, "CHUNK", 8)
    draw = random.Random(3)
    left, ids = passages(0, 20), 20
    index = Collection.build(Corpus(left), tmp_path / "index", encoder=encoder, key="hash", half=half)
    for step in [
        "add",
        "delete",
        "add",
        "delete",
        "compact",
        "delete",
        "add",
        "clear",
        "add",
        "compact",
        "clear",
        "compact",
    ]:
        if step == "add":
            new = passages(ids, ids + draw.randint(1, 20))
            ids += len(new)
            index.add(new)
            left += new
        elif step == "compact":
            index.compact()
            assert len(index.manifest.segments) == bool(left)
            assert index.manifest.deleted is None
        else:
            gone = draw.sample(left, len(left) // 3 if step == "delete" else len(left))
            index.delete(passage.id for passage in gone)
            left = [passage for passage in left if passage not in gone]
        same(index, Corpus(left), encoder, half)
        again = Collection.open(tmp_path / "index", corpus=Corpus(left), encoder=encoder, key="hash")
        same(again, Corpus(left), encoder, half)
        names = {path.name for path in (tmp_path / "index").iterdir()} - {".lock", "manifest.json"}
        assert names == {piece.name for piece in index.manifest.pieces}  # nothing is left over


def test_passages_are_encoded_once(tmp_path, encoder):
    index = Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    index.add(passages(9, 12))
    index.delete(["p1", "p10"])
    index.compact()
    Collection.open(tmp_path / "index", encoder=encoder, key="hash")
    assert sorted(text for call in encoder.calls for text in call) == sorted(p.whole for p in passages(0, 12))


def test_a_search_keeps_the_state_it_was_taken_in(tmp_path, encoder):
    index = Collection.build(Corpus(passages(0, 30)), tmp_path / "index", encoder=encoder, key="hash")
    searches = [index.bm25, index.dense]
    before = [search.search(QUERIES, 5) for search in searches]
    index.delete([f"p{n}" for n in range(25)])
    index.compact()
    for search, found in zip(searches, before, strict=True):
        for a, b in zip(search.search(QUERIES, 5), found, strict=True):
            assert np.array_equal(a.indices, b.indices)
    same(index, Corpus(passages(25, 30)), encoder)


@pytest.mark.parametrize("mapped_from", [arrays.MAPPED_FROM, 1])
def test_large_vectors_are_mapped_and_small_ones_read(tmp_path, encoder, monkeypatch, mapped_from):
    monkeypatch.setattr(arrays, "MAPPED_FROM", mapped_from)
    Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    index = Collection.open(tmp_path / "index", encoder=encoder, key="hash")
    (part,) = index.vectors.parts
    assert isinstance(part, np.memmap) == (mapped_from == 1)
    assert part.dtype == np.float32
    assert not part.flags.writeable


def test_another_corpus_or_encoder_is_one_error_that_says_what_differs(tmp_path, encoder):
    folder, corpus = tmp_path / "index", Corpus(passages(0, 9))
    Collection.build(corpus, folder, encoder=encoder, key="hash")
    other = Corpus(passages(0, 8))
    with pytest.raises(
        DataError, match=f"9 passages, hash {corpus.hash[:12]}, not from the 8 passages, hash {other.hash[:12]}"
    ):
        Collection.open(folder, corpus=other, encoder=None)
    with pytest.raises(DataError, match="built with encoder 'hash', not with 'else'; build the collection again"):
        Collection.open(folder, corpus=corpus, encoder=encoder, key="else")
    with pytest.raises(DataError, match=r"^[^\n]*hash [^\n]*encoder 'hash'[^\n]*build the collection again[^\n]*$"):
        Collection.open(folder, corpus=other, key="else")
    with pytest.raises(ValueError, match="needs a key"):
        Collection.open(folder, encoder=encoder)
    Collection.build(corpus, tmp_path / "words", encoder=None)
    with pytest.raises(DataError, match="built without an encoder, not with 'hash'"):
        Collection.open(tmp_path / "words", encoder=encoder, key="hash")


def test_without_an_encoder_there_is_bm25_alone(tmp_path, encoder):
    index = Collection.build(Corpus(passages(0, 9)), tmp_path / "words", encoder=None)
    assert index.bm25.search(["port"], 1)[0].indices.tolist() == [3]
    with pytest.raises(DataError, match="no vectors; build it again with an encoder"):
        _ = index.dense
    index.add(passages(9, 12))
    index.delete(["p3"])
    index.compact()
    assert index.bm25.search(["port"], 1)[0].indices.tolist() == [6]  # p7, one place up
    Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    closed = Collection.open(tmp_path / "index", encoder=None)
    assert len(closed.bm25.search(["port"], 9)[0].indices) == 9
    for call in (lambda: closed.dense, lambda: closed.add(passages(9, 10))):
        with pytest.raises(DataError, match="open the collection with its encoder and key"):
            call()


def test_what_cannot_be_changed_is_left_as_it_is(tmp_path, encoder):
    corpus = Corpus(passages(0, 9))
    index = Collection.build(corpus, tmp_path / "index", encoder=encoder, key="hash")
    with pytest.raises(DataError, match="two passages have the id 'p3'; nothing was added"):
        index.add([Passage("new", "", "x"), corpus[3]])
    with pytest.raises(DataError, match="no passage has the id 'zz'; nothing was deleted"):
        index.delete(["p1", "zz"])
    with pytest.raises(DataError, match="text must be text"):
        index.add([Passage("new", "", "\ud800")])
    other = Collection.open(tmp_path / "index", encoder=encoder, key="hash")
    index.encoder = lambda texts: np.ones((len(texts), 12), np.float32)
    with pytest.raises(ValueError, match="unit vectors"):
        index.add([Passage("new", "", "x")])
    index.encoder = lambda texts: encoder(texts)[:, :1] ** 0
    with pytest.raises(DataError, match="vectors of 1 dimensions for a collection of 12"):
        index.add([Passage("newer", "", "y")])
    same(Collection.open(tmp_path / "index", corpus=corpus, encoder=encoder, key="hash"), corpus, encoder)
    other.add([Passage("late", "", "z")])
    with pytest.raises(DataError, match="changed since it was opened; open it again"):
        index.delete(["p1"])
    with FileLock(tmp_path / "index" / ".lock"), pytest.raises(DataError, match="another process is changing"):
        other.delete(["p1"])


def test_where_an_index_may_be_built(tmp_path, encoder):
    corpus, more = Corpus(passages(0, 5)), Corpus(passages(0, 9))
    Collection.build(corpus, tmp_path / "index", encoder=None)
    with pytest.raises(DataError, match="a collection is there already"):
        Collection.build(more, tmp_path / "index", encoder=None)
    same(Collection.build(more, tmp_path / "index", encoder=encoder, key="hash", overwrite=True), more, encoder)
    (tmp_path / "index" / "manifest.json").write_text("{")
    same(Collection.build(corpus, tmp_path / "index", encoder=encoder, key="hash", overwrite=True), corpus, encoder)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="not a folder"):
        Collection.build(corpus, tmp_path / "file", encoder=None, overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("a user's")
    with pytest.raises(DataError, match=r"not empty \(notes.txt\), and not a collection"):
        Collection.build(corpus, tmp_path / "mine", encoder=None, overwrite=True)
    with pytest.raises(ValueError, match="without an encoder"):
        Collection.build(corpus, tmp_path / "key", encoder=None, key="hash")
    with pytest.raises(DataError, match=r"no collection is there \(no manifest.json\)"):
        Collection.open(tmp_path / "none", encoder=None)


def test_what_a_manifest_of_another_format_may_name_stays(tmp_path, encoder):
    def broken(texts):
        raise RuntimeError

    corpus, folder = Corpus(passages(0, 5)), tmp_path / "index"
    index = Collection.build(corpus, folder, encoder=encoder, key="hash")
    (folder / "manifest.json").write_text('{"format": 4}')
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(DataError, match=r"manifest\.json: format 4, this version reads"):
        index.add(passages(5, 7))
    with pytest.raises(RuntimeError):
        Collection.build(Corpus(passages(5, 7)), folder, encoder=broken, key="hash", overwrite=True)
    assert {path: path.read_bytes() for path in before} == before


def test_an_empty_corpus_grows(tmp_path, encoder):
    index = Collection.build(Corpus([]), tmp_path / "index", encoder=encoder, key="hash")
    assert [len(hits.indices) for hits in index.dense.search(["q"], 3) + index.bm25.search(["q"], 3)] == [0, 0]
    index.add(passages(0, 5))
    same(index, Corpus(passages(0, 5)), encoder)


def change(key, value):
    return lambda row: {**row, key: value}


MANIFESTS = {
    "no object": lambda row: [1],
    "later format": change("format", 4),
    "format of another type": change("format", [2]),
    "no format": lambda row: {key: value for key, value in row.items() if key != "format"},
    "a key less": lambda row: {key: value for key, value in row.items() if key != "half"},
    "a key more": change("extra", 1),
    "a text for a number": change("passages", "9"),
    "negative": change("dimensions", -1),
    "true": change("passages", True),
    "another count": change("passages", 8),
    "another width": change("dimensions", 11),
    "no width": change("dimensions", 0),
    "halves": change("half", True),
    "no list": change("segments", {"name": "segment-000001", "passages": 9}),
    "out of the folder": change("segments", [{"name": "../../segment-000001", "passages": 9}]),
    "other kind": change("deleted", {"name": "segment-000001", "passages": 0}),
    "no such file": change("deleted", {"name": "deleted-000009", "passages": 0}),
    "number as hash": change("corpus", 5),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_damaged_manifest_is_an_error_of_one_line(tmp_path, encoder, name):
    Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    path = tmp_path / "index" / "manifest.json"
    path.write_text(json.dumps(MANIFESTS[name](json.loads(path.read_text()))))
    with pytest.raises(DataError, match=r"^[^\n]*build the collection again[^\n]*$"):
        Collection.open(tmp_path / "index", encoder=None)


@pytest.mark.parametrize("size", [0, 20, 200])
def test_a_manifest_cut_short_is_an_error_of_one_line(tmp_path, size):
    Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=None)
    path = tmp_path / "index" / "manifest.json"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=r"^[^\n]*manifest.json: not valid JSON[^\n]*$"):
        Collection.open(tmp_path / "index", encoder=None)


def test_damaged_vectors_rows_and_passages_are_errors_of_one_line(tmp_path, encoder):
    index = Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    index.delete(["p1", "p2"])
    folder = tmp_path / "index"

    def refused(path, raw, message, use=lambda index: None):
        whole = path.read_bytes()
        path.write_bytes(raw(whole))
        with pytest.raises(DataError, match=message) as error:
            use(Collection.open(folder, encoder=None))
        assert "\n" not in str(error.value)
        path.write_bytes(whole)

    vectors, lines = folder / "segment-000001" / "vectors.npy", folder / "segment-000001" / "passages.jsonl"
    for raw in (
        lambda raw: raw[:-4],
        lambda raw: raw[:50],
        lambda raw: b"",
        lambda raw: b"text",
        lambda raw: raw.replace(b")", b"(", 1),
    ):
        refused(vectors, raw, "vectors.npy: damaged or cut short; build the collection again")
    refused(folder / "deleted-000002", lambda raw: raw[:-8], "deleted-000002: damaged or cut short")
    refused(folder / "deleted-000002", lambda raw: raw[:-16] + raw[-8:] + raw[-16:-8], "rows do not ascend")
    refused(lines, lambda raw: raw.split(b"\n", 1)[1], "8 passages of 9", lambda index: index.corpus)
    refused(
        lines, lambda raw: raw.replace(b"fact 4", b"fact 5"), "not those it was built from", lambda index: index.corpus
    )
    refused(lines, lambda raw: raw[:-4], "passages.jsonl:9: not valid JSON", lambda index: index.corpus)
    same(Collection.open(folder, encoder=encoder, key="hash"), index.corpus, encoder)


@pytest.mark.parametrize("name", ["counts.npy", "words.npy", "vectors.npy"])
def test_a_flipped_bit_is_seen_when_a_file_is_used(name, tmp_path, encoder):
    index = Collection.build(Corpus(passages(0, 9)), tmp_path / "index", encoder=encoder, key="hash")
    path = index.folder / "segment-000001" / name
    raw = bytearray(path.read_bytes())
    raw[-5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DataError, match=f"{name}: not what was written"):
        Collection.open(index.folder, encoder=encoder, key="hash").hybrid.search(["fact"], k=3)
    Collection.open(index.folder, encoder=encoder, key="hash", verify=False).hybrid.search(["fact"], k=3)
