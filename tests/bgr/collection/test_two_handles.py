"""A collection that is open while another handle changes it: it keeps what it has read, or says what happened."""

from __future__ import annotations

import pytest

from bgr.collection import segments
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import Triple
from bgr.errors import DataError

CORPUS = Corpus(Passage(f"p{n}", "", f"fact {n}") for n in range(9))
TRIPLES = [Triple(f"name {n}", "is", "a name", n) for n in range(9)]
PARTS = {
    "corpus": lambda index: index.corpus,
    "bm25": lambda index: index.bm25,
    "vectors": lambda index: index.vectors,
    "triples": lambda index: index.triples,
    "verify": lambda index: index.verify(),
    "compact": lambda index: index.compact(),
}


@pytest.fixture
def two(tmp_path, encoder):
    """Two handles of one collection in two segments."""
    index = Collection.build(CORPUS, tmp_path / "index", encoder=encoder, key="hash", triples=TRIPLES)
    index.add([Passage("new", "", "another fact")])
    return index, Collection.open(tmp_path / "index", encoder=encoder, key="hash")


@pytest.mark.parametrize("part", PARTS)
def test_what_another_handle_removed_is_not_called_damaged(two, part):
    one, other = two
    one.delete(["p3"])
    one.compact()
    with pytest.raises(DataError, match=r"^[^\n]*index: changed since it was opened; open it again$"):
        PARTS[part](other)
    again = Collection.open(one.folder, encoder=None)
    assert (len(again.corpus), len(again.bm25), len(again.triples)) == (9, 9, 8)


def test_what_was_read_before_stays(two):
    one, other = two
    before = other.corpus, other.bm25.search(["fact 8"], 1), other.vectors, other.triples
    one.delete(["p3"])
    one.compact()
    assert (other.corpus, other.vectors, other.triples) == (before[0], before[2], before[3])
    assert other.bm25.search(["fact 8"], 1)[0].indices.tolist() == before[1][0].indices.tolist()
    assert len(other.corpus) == 10


def test_damage_is_called_so_if_nobody_changed_the_folder(two):
    _, other = two
    (other.folder / "segment-000001" / "counts.npy").unlink()
    with pytest.raises(DataError, match=r"segment-000001/counts.npy: not what was written"):
        _ = other.bm25


def test_a_change_reads_nothing_again(two, tmp_path, encoder, monkeypatch):
    one, _ = two
    assert one.bm25
    assert len(one.corpus) == 10
    read: list[str] = []
    monkeypatch.setattr(segments, "load_corpus", lambda path: read.append(str(path)))
    digest = segments.digest
    monkeypatch.setattr(segments, "digest", lambda path: read.append(str(path)) or digest(path))
    one.add([Passage("newer", "", "a third fact")])
    one.add([Passage("newest", "", "a fourth fact")])
    one.delete(["p3"])
    assert one.bm25.search(["fourth"], 1)[0].indices.tolist() == [10]
    assert {name.partition("index/")[2].partition("/")[0] for name in read} == {
        "segment-000003",
        "segment-000004",
        "deleted-000005",
        "triples-000001",  # of which the deletion keeps a part
    }
    monkeypatch.undo()
    left = [*CORPUS[:3], *CORPUS[4:], *(one.corpus[n] for n in (8, 9, 10))]
    again = Collection.open(one.folder, corpus=Corpus(left), encoder=encoder, key="hash")
    assert again.corpus.passages == one.corpus.passages == tuple(left)
    fresh = Collection.build(Corpus(left), tmp_path / "fresh", encoder=encoder, key="hash")
    assert fresh.manifest.corpus == one.hash == again.hash == one.corpus.hash
