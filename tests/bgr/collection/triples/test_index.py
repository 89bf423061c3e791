"""The triple index: built, searched, kept on disk, opened, refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bgr.collection import arrays
from bgr.collection.triples import index as index_module
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.errors import DataError

TRIPLES = [
    Triple("Ingmar Bergman", "directed", "Persona", 3),
    Triple("Persona", "runs for", "83 minutes", 3),
    Triple("Sweden", "borders", "Norway", 0),
    Triple("ingmar  bergman", "was born in", "Uppsala", 1),
    Triple("Uppsala", "lies in", "SWEDEN", 1),
    Triple("Norway", "is", "norway", 0),
    Triple("Sweden", "borders", "Norway", 5),
]
KEYS = {"corpus_hash": "c" * 64, "encoder_key": "e" * 64}
ARRAYS = ("vectors", "passages", "head", "tail", "starts", "members")
FILES = [f"{name}.npy" for name in ("text", "offsets", "vectors", "places", "head", "tail", "starts", "members")]


@pytest.fixture
def index(encoder):
    return TripleIndex.build(iter(TRIPLES), encoder)


def test_the_graph_by_hand(index):
    assert list(index.triples) == TRIPLES
    assert index.head.tolist() == [0, 1, 3, 0, 5, 4, 3]
    assert index.tail.tolist() == [1, 2, 4, 5, 3, 4, 4]
    assert [index.neighbors(number).tolist() for number in range(7)] == [
        [1, 3], [0], [4, 5, 6], [0, 4], [2, 3, 6], [2, 6], [2, 4, 5],
    ]  # fmt: skip
    assert [index.of_passage(place).tolist() for place in range(7)] == [[2, 5], [3, 4], [], [0, 1], [], [6], []]
    assert len(index) == 7


def test_search(index, encoder):
    first, second = index.search(["Sweden borders Norway", "Uppsala lies in Sweden"], 3)
    assert first.indices.tolist()[:2] == [2, 6]
    assert first.scores[0] == first.scores[1] == pytest.approx(1)
    assert len(second.indices) == 3
    assert index.search([], 3) == []
    assert len(index.search(["x"], 99)[0].indices) == len(TRIPLES)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_encoded_in_blocks(monkeypatch, encoder, kind):
    monkeypatch.setattr(index_module, "BLOCK", 3)
    calls = []

    def counted(texts):
        calls.append(len(texts))
        return encoder(texts).astype(kind)

    index = TripleIndex.build(TRIPLES, counted)
    assert calls == [3, 3, 1]
    assert index.vectors.dtype == (np.float16 if kind == np.float16 else np.float32)
    expected = encoder([triple.text for triple in TRIPLES]).astype(index.vectors.dtype)
    np.testing.assert_array_equal(index.vectors, expected)


@pytest.mark.parametrize(
    "wrong",
    [lambda rows: rows[:-1], lambda rows: rows[0], lambda rows: rows * np.nan, lambda rows: np.stack([rows, rows])],
)
def test_an_encoder_that_gives_something_else(encoder, wrong):
    with pytest.raises(ValueError, match="the encoder gave"):
        TripleIndex.build(TRIPLES, lambda texts: wrong(encoder(texts)))


@pytest.mark.parametrize("added", [0, 2, 40])
@pytest.mark.parametrize("deleted", [(), (0, 3), (0, 1, 3, 5)])
def test_passages_added_deleted_and_moved(tmp_path, monkeypatch, encoder, added, deleted):
    """The same as one that is built anew, but only what is new is encoded."""
    monkeypatch.setattr(index_module, "BLOCK", 16)
    TripleIndex.build(TRIPLES, encoder).save(tmp_path / "index", **KEYS)
    encoded = []

    def counted(texts):
        encoded.extend(texts)
        return encoder(texts)

    before = TripleIndex.open(tmp_path / "index", counted, **KEYS)
    places = np.array([-1 if place in deleted else 9 - place for place in range(6)])
    new = [Triple("NORWAY", f"has {n}", f"thing {n}", n) for n in range(added)]
    now = before.changed(places, iter(new))
    kept = [triple._replace(passage=9 - triple.passage) for triple in TRIPLES if triple.passage not in deleted]
    assert encoded == [triple.text for triple in new]
    assert list(now.triples) == kept + new
    anew = TripleIndex.build(kept + new, encoder)
    for name in ARRAYS:
        expected = getattr(anew, name)
        assert np.array_equal(getattr(now, name).reshape(expected.shape), expected)
    now.save(tmp_path / "index", **KEYS)
    assert list(TripleIndex.open(tmp_path / "index", encoder, **KEYS).triples) == kept + new


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_saved_and_opened(tmp_path, encoder, kind, monkeypatch):
    monkeypatch.setattr(arrays, "MAPPED_FROM", 1)  # as large ones

    def of_kind(texts):
        return encoder(texts).astype(kind)

    index = TripleIndex.build(TRIPLES, of_kind)
    index.save(tmp_path / "index", **KEYS)
    again = TripleIndex.open(tmp_path / "index", of_kind, **KEYS)
    assert list(again.triples) == TRIPLES
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(index, name))
        assert getattr(again, name).dtype == getattr(index, name).dtype
    mapped = again.vectors if again.vectors.base is None else again.vectors.base
    assert isinstance(mapped, np.memmap)
    for a, b in zip(index.search(["Norway"], 5), again.search(["Norway"], 5), strict=True):
        assert np.array_equal(a.indices, b.indices)
        assert np.array_equal(a.scores, b.scores)
    assert [again.neighbors(n).tolist() for n in range(7)] == [index.neighbors(n).tolist() for n in range(7)]


@pytest.mark.filterwarnings("error")
def test_an_empty_index(tmp_path, encoder):
    TripleIndex.build([], encoder).save(tmp_path / "index", **KEYS)
    again = TripleIndex.open(tmp_path / "index", encoder, **KEYS)
    assert len(again) == 0
    assert list(again.triples) == again.of_passage(0).tolist() == []
    assert again.search(["Norway"], 5)[0].indices.tolist() == []


def test_an_index_is_replaced_and_one_that_is_open_stays(tmp_path, index, encoder):
    index.save(tmp_path / "index", **KEYS)
    before = TripleIndex.open(tmp_path / "index", encoder, **KEYS)
    TripleIndex.build(TRIPLES[:2], encoder).save(tmp_path / "index", corpus_hash="new", encoder_key="e")
    assert len(TripleIndex.open(tmp_path / "index", encoder, corpus_hash="new", encoder_key="e")) == 2
    assert list(before.triples) == TRIPLES
    before.save(tmp_path / "index", **KEYS)
    assert list(TripleIndex.open(tmp_path / "index", encoder, **KEYS).triples) == TRIPLES
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_nothing_else_is_replaced(tmp_path, index):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(DataError, match="not a triple index; name another folder"):
        index.save(tmp_path, **KEYS)
    with pytest.raises(DataError, match="not a triple index; name another folder"):
        index.save(tmp_path / "thesis.txt", **KEYS)
    with pytest.raises(DataError, match="cannot be written"):
        index.save(tmp_path / "thesis.txt" / "index", **KEYS)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def fails(folder, encoder, match, **keys):
    with pytest.raises(DataError, match=match) as caught:
        TripleIndex.open(folder, encoder, **{**KEYS, **keys})
    assert "\n" not in str(caught.value)


def test_another_corpus_encoder_or_version(tmp_path, index, encoder):
    folder = tmp_path / "index"
    fails(folder, encoder, "build one first")
    index.save(folder, **KEYS)
    fails(folder, encoder, "of another corpus .*cccc.*wanted: 'd'.*build it again", corpus_hash="d")
    fails(folder, encoder, "of another encoder .*eeee.*build it again", encoder_key="f")
    sheet = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**sheet, "version": 99}))
    fails(folder, encoder, "version 99; build it again")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes()[:40]),
        lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]),
        lambda path: path.write_bytes(path.read_bytes().replace(b")", b"(", 1)),
        lambda path: np.save(path, np.array([{"code": 1}]), allow_pickle=True),
        lambda path: np.save(path, np.zeros((2, 2))),
    ],
    ids=["gone", "empty", "cut", "cut in the header", "magic", "open bracket", "pickle", "another array"],
)
def test_a_damaged_file(tmp_path, index, encoder, name, harm):
    index.save(tmp_path / "index", **KEYS)
    harm(tmp_path / "index" / name)
    fails(tmp_path / "index", encoder, f"{name}.*build the collection again")


@pytest.mark.parametrize("name", [name for name in FILES if name != "vectors.npy"])
def test_a_changed_byte(tmp_path, index, encoder, name):
    index.save(tmp_path / "index", **KEYS)
    file = tmp_path / "index" / name
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    fails(tmp_path / "index", encoder, "damaged or changed.*build the collection again")


def test_a_vector_of_another_width(index):
    with pytest.raises(ValueError, match="the vectors have 12 dimensions"):
        replace(index, encoder=lambda texts: np.ones((1, 5), dtype=np.float32)).search(["Norway"], 1)


@pytest.mark.parametrize("sheet", ["", "[]", "{", "{}", "null", '{"version": 1}', "\udcff"])
def test_a_damaged_sheet(tmp_path, index, encoder, sheet):
    index.save(tmp_path / "index", **KEYS)
    (tmp_path / "index" / "index.json").write_text(sheet, errors="surrogateescape")
    fails(tmp_path / "index", encoder, "index")


@pytest.mark.parametrize("field", ["shapes", "kind", "sha256"])
@pytest.mark.parametrize("value", [None, 3, [], {}, "x"])
def test_a_sheet_that_says_something_else(tmp_path, index, encoder, field, value):
    index.save(tmp_path / "index", **KEYS)
    file = tmp_path / "index" / "index.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), field: value}))
    fails(tmp_path / "index", encoder, "build the collection again")


def test_text_that_is_no_utf8(index):
    index.triples.text[0] = 0xFF
    with pytest.raises(DataError, match="triple 0: its text is damaged"):
        index.triples[0]
    assert index.triples[1] == TRIPLES[1]


@pytest.mark.parametrize("passages", [[], [2], [0], [0, 1, 3, 5], [5, 3, 0]])
def test_the_part_of_some_passages_is_that_of_changed(index, passages):
    moved = np.full(6, -1, dtype=np.int64)
    moved[passages] = np.arange(len(passages))
    expected, part = index.changed(moved, []), index.of_passages(np.array(passages, dtype=np.int64))
    assert list(part.triples) == list(expected.triples)
    for name in ARRAYS:
        assert np.array_equal(getattr(part, name), getattr(expected, name))
    for mine, theirs in zip(part.search(["Sweden"], 9), expected.search(["Sweden"], 9), strict=True):
        assert np.array_equal(mine.indices, theirs.indices)
        assert np.array_equal(mine.scores, theirs.scores)
