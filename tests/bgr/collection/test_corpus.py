"""Passages in memory and as a file."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.corpus import Corpus, Passage, load_corpus, passage_id, read_documents, save_corpus
from bgr.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
THREE = Corpus([Passage("a", "A title", "Text."), Passage("b", "", "Two\nlines\u2028and more"), Passage("c", "", "")])


def test_places_slices_and_hash():
    assert THREE[1].id == "b"
    assert [passage.id for passage in THREE[1:]] == ["b", "c"]
    assert THREE.index_of == {"a": 0, "b": 1, "c": 2}
    assert [passage.whole for passage in THREE] == ["A title\nText.", "Two\nlines\u2028and more", ""]
    assert THREE.hash != Corpus(THREE[:2]).hash
    assert THREE.hash != Corpus([THREE[1], THREE[0], THREE[2]]).hash
    assert Corpus([Passage("a", "bc", "")]).hash != Corpus([Passage("a", "b", "c")]).hash


def test_an_id_stands_once():
    with pytest.raises(ValueError, match="two passages have the id 'x'"):
        Corpus([Passage("x", "", "one"), Passage("y", "", "two"), Passage("x", "", "three")])
    with pytest.raises(ValueError, match=r"^two passages have the id 'x+…$") as error:
        Corpus([Passage("x" * 90_000, "", "one")] * 2)
    assert len(str(error.value)) < 120


@pytest.mark.parametrize("hashed", [False, True])
def test_an_extended_corpus_is_a_fresh_one(hashed):
    first = Corpus(THREE[:1])
    if hashed:
        assert first.hash
    second = first.extended(THREE[1:2])
    third = second.extended(iter(THREE[2:]))
    for mine, theirs in ((first, THREE[:1]), (second, THREE[:2]), (third, THREE[:])):
        fresh = Corpus(theirs)
        assert (mine.passages, mine.index_of, mine.hash) == (fresh.passages, fresh.index_of, fresh.hash)
    assert pickle.loads(pickle.dumps(third)).hash == copy.deepcopy(third).extended([]).hash == THREE.hash
    with pytest.raises(ValueError, match="two passages have the id 'a'"):
        second.extended([Passage("d", "", "four"), THREE[0]])
    with pytest.raises(DataError, match="passage 'd': text has 100,001 characters"):
        second.extended([Passage("d", "", "x" * 100_001)])
    assert second.index_of == {"a": 0, "b": 1}


@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), unique_by=lambda row: row[0], max_size=6))
def test_written_and_read_is_the_same(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    corpus = Corpus(Passage(*row) for row in rows)
    save_corpus(corpus, path)
    assert load_corpus(path).passages == corpus.passages
    assert [file.name for file in path.parent.iterdir()] == ["corpus.jsonl"]


def test_titles_may_be_left_out_and_lines_empty(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "1", "text": "one"}\r\n\n{"text": "two", "id": "2", "title": "T"}')
    assert load_corpus(path).passages == (Passage("1", "", "one"), Passage("2", "T", "two"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # some editors write a mark at the beginning
    assert load_corpus(path).passages == (Passage("1", "", "one"), Passage("2", "T", "two"))


BAD = {
    "cut": ('{"id": "2", "te', "corpus.jsonl:2: not valid JSON at column"),
    "a list": ("[1, 2]", r"corpus.jsonl:2: \[1, 2\] is not a passage; a line is"),
    "no text": ('{"id": "2"}', "corpus.jsonl:2: text is missing; a line is"),
    "a number": ('{"id": 2, "text": "t"}', "corpus.jsonl:2: id is 2; a line is"),
    "no title": ('{"id": "2", "text": "t", "title": null}', "corpus.jsonl:2: title is None; a line is"),
    "more keys": ('{"id": "2", "text": "t", "url": ""}', "corpus.jsonl:2: unknown key 'url'; a line is"),
    "twice": ('{"id": "1", "text": "t"}', "corpus.jsonl:2: the id '1' stands in line 1 already"),
    "half a pair": ('{"id": "2", "text": "\\ud800"}', "corpus.jsonl:2: text is "),
    "deep": ("[" * 100_000, "corpus.jsonl:2: not valid JSON: nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named(tmp_path, name):
    line, message = BAD[name]
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "1", "text": "one"}\n' + line + "\n")
    with pytest.raises(DataError, match=message) as error:
        load_corpus(path)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load_corpus(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b'{"id": "\xff"}')
    with pytest.raises(DataError, match="bytes: cannot be read"):
        load_corpus(tmp_path / "bytes")
    with pytest.raises(DataError, match="cannot be written"):
        save_corpus(THREE, tmp_path / "none" / "corpus.jsonl")
    path = tmp_path / "corpus.jsonl"
    save_corpus(THREE, path)
    with pytest.raises(DataError, match="passage 'h': text must be text"):
        save_corpus([Passage("h", "", "\udfff")], path)
    assert len(path.read_text().splitlines()) >= 3  # the old one is there
    assert json.loads(path.read_text().split("\n")[0])["title"] == "A title"


def test_documents_of_any_form(tmp_path):
    save_corpus(THREE, tmp_path / "corpus.jsonl")
    for form in (THREE, tmp_path / "corpus.jsonl", str(tmp_path / "corpus.jsonl"), list(THREE), map(vars, THREE)):
        assert read_documents(form).passages == THREE.passages
    first, _, third, titled = read_documents(["a text", "another", "a text", {"title": "A", "text": "a text"}])
    assert (first.text, first.title, first.id) == ("a text", "", passage_id("", "a text"))
    assert (third.id, third.text) == (f"{first.id}-2", "a text")
    assert titled.id == passage_id("A", "a text") != first.id


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"id": "a"}], r"document 0 \(from 0\): text is missing"),
        (["x", {"text": "y", "url": "z"}], r"document 1 \(from 0\): unknown key 'url'"),
        ([5], "5 is not a passage"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "two passages have the id 'a'; ids are unique"),
        (["\ud800"], "text is"),
    ],
)
def test_documents_that_are_not_valid(documents, message):
    with pytest.raises(DataError, match=message):
        read_documents(documents)
