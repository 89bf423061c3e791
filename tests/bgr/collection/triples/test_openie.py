"""Import of OpenIE files: matched by title and text; malformed rows are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.openie import read_openie
from bgr.collection.triples.triple import Triple
from bgr.errors import DataError

CORPUS = Corpus(
    [
        Passage("p0", "Gold", "It melts."),
        Passage("p1", "Gold", "It is dense."),
        Passage("p2", "", "No title."),
        Passage("p3", "Tin", "Soft."),
        Passage("p4", "Tin", "Soft."),
    ]
)


def doc(title, text, *rows):
    return {"title": title, "text": text, "passage": "unused", "extracted_triples": list(rows)}


def write(path: Path, *docs, **more) -> Path:
    path.write_text(json.dumps({"docs": docs, **more}))
    return path


def test_matched_by_title_and_text(tmp_path):
    path = write(
        tmp_path / "openie.json",
        doc("Gold", "It is dense.", ["Gold", "is", "dense"], ["Gold", "is", "dense"]),
        doc("Silver", "It melts.", ["Silver", "is", "wrong"]),
        {"idx": "x", "passage": "Gold\nIt melts.", "extracted_triples": [["Gold", "melts", "at 1,064 °C"]]},
        doc("", "No title.", ["a", "b", "c"]),
        avg_ent_chars=3.5,
    )
    found = read_openie(path, CORPUS)
    assert found.triples == (
        Triple("Gold", "melts", "at 1,064 °C", 0),
        Triple("Gold", "is", "dense", 1),
        Triple("Gold", "is", "dense", 1),
        Triple("a", "b", "c", 2),
    )
    assert (found.rows, found.unmatched, found.bare, found.malformed) == (4, 1, (3, 4), {})
    assert found.report.startswith("4 triples of 4 rows (left out: none)")


def test_equal_passages_each_take_one_of_the_file(tmp_path):
    docs = [doc("Tin", "Soft.", [name, "is", "soft"]) for name in ("one", "two", "three")]
    found = read_openie(write(tmp_path / "openie.json", *docs), CORPUS)
    assert found.triples == (Triple("one", "is", "soft", 3), Triple("two", "is", "soft", 4))
    assert found.unmatched == 1


def test_malformed_rows_and_passages_are_counted(tmp_path):
    rows = [["a", "b"], "abc", ["a", "b", 3], ["a", "b", "c"], ["a", " ", "c"], ["a", "b", "c", "d"], None]
    path = write(
        tmp_path / "openie.json",
        doc("Gold", "It melts.", *rows),
        None,
        [1, 2],
        {"title": "Gold"},
        {"title": 3, "text": "It melts.", "extracted_triples": []},
        {"title": "Tin", "text": "Soft.", "extracted_triples": "none"},
        {"title": "Tin", "text": "Soft."},
        doc("Gold", "It is dense."),
    )
    found = read_openie(path, CORPUS)
    assert found.triples == (Triple("a", "b", "c", 0),)
    assert found.rows == 7
    assert found.malformed == {
        "not three parts": 2,
        "not a list": 2,
        "a part is not text": 1,
        "an empty part": 1,
        "passage that is no object": 2,
        "passage without a text": 2,
        "passage without a list of triples": 2,
    }
    assert sum(found.malformed.values()) - 6 + len(found.triples) == found.rows
    assert found.bare == (2, 3, 4)
    assert len(found.quoted) == 5
    assert found.quoted[0] == f"{path}: docs[0]: extracted_triples[0]: not three parts: ['a', 'b']"
    assert not any("\n" in line for line in found.quoted)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "list 'docs'"),
        ("{}", "list 'docs'"),
        ('{"docs": {}}', "list 'docs'"),
        ('{"docs": [', "not valid JSON"),
        ('{"docs": [{"title": "x", "text": "y", "extracted_triples": []}]}', "none of its 1 passages is in the corpus"),
    ],
)
def test_a_file_that_is_none(tmp_path, text, message):
    (tmp_path / "openie.json").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_openie(tmp_path / "openie.json", CORPUS)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="no such file"):
        read_openie(tmp_path / "none.json", CORPUS)


@pytest.mark.workflow
def test_the_published_sample(multihop_sample):
    if multihop_sample is None:
        pytest.skip("BGR_MULTIHOP names no folder with HippoRAG's sample")
    records = json.loads((multihop_sample / "musique_train_corpus.json").read_text())
    corpus = Corpus(Passage(str(n), record["title"], record["text"]) for n, record in enumerate(records))
    found = read_openie(multihop_sample / "musique_train_openie_gpt35.json", corpus)
    assert (found.rows, len(found.triples), found.unmatched, found.bare) == (17419, 17234, 0, ())
    assert found.malformed == {"not three parts": 185}
