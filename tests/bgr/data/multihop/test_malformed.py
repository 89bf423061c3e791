"""Damaged files: the error is one line with the location and what is allowed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.collections import read_passages
from bgr.data.multihop.load import load_multihop, read_corpus
from bgr.errors import DataError

MUSIQUE = [
    ((1, "id"), 5, "item 1: id is 5, allowed: a text"),
    ((1, "question"), ..., "item 1: question is missing, allowed: a text"),
    ((1, "paragraphs"), {}, "item 1: paragraphs is {}, allowed: a list"),
    ((1, "paragraphs", 0), "x", "item 1: paragraph 0: is 'x', allowed: an object"),
    ((1, "paragraphs", 0, "is_supporting"), 1, "paragraph 0: is_supporting is 1, allowed: true or false"),
    ((1, "paragraphs", 1, "paragraph_text"), ..., "paragraph 1: paragraph_text is missing"),
    ((1, "paragraphs", 1, "title"), "\ud800", "paragraph 1: title is '\\ud800', allowed: a text"),
    ((1, "answer_aliases"), [None], "answer_aliases, number 0 is None, allowed: a text"),
    ((1, "answerable"), "yes", "answerable is 'yes', allowed: true or false"),
    ((1, "id"), "2hop__1_2", "two questions have the id '2hop__1_2', allowed: unique ids"),
    ((1,), [], "item 1: is [], allowed: an object"),
]


@pytest.mark.parametrize(("path", "value", "message"), MUSIQUE, ids=[m for _, _, m in MUSIQUE])
def test_musique(write, musique, change, path, value, message):
    with pytest.raises(DataError) as error:
        load_multihop(write("q.json", change(musique, path, value)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


HOTPOT = [
    ((0, "supporting_facts"), ..., "item 0: supporting_facts is missing"),
    ((0, "supporting_facts", 1), ["Bergen", -1], "supporting fact 1: is ['Bergen', -1], allowed: [title, number"),
    ((0, "supporting_facts", 1), ["Bergen", True], "supporting fact 1: is ['Bergen', True]"),
    ((0, "context", 2), ["Cloud"], "context 2: is ['Cloud'], allowed: [title, [sentence, …]]"),
    ((0, "context", 2, 1, 0), 3, "context 2: sentence 0 is 3, allowed: a text"),
    ((0, "answer"), None, "answer is None, allowed: a text"),
]


@pytest.mark.parametrize(("path", "value", "message"), HOTPOT, ids=[m for _, _, m in HOTPOT])
def test_hotpotqa(write, hotpot, change, path, value, message):
    with pytest.raises(DataError) as error:
        load_multihop(write("q.json", change(hotpot, path, value)))
    assert message in str(error.value)


def test_multihop_rag(write, rag, change):
    queries, corpus = rag
    file = write("corpus.json", corpus)
    broken = change(queries, (0, "evidence_list", 1, "url"), ...)
    with pytest.raises(DataError, match="item 0: evidence 1: url is missing"):
        load_multihop(write("q.json", broken), corpus=file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no record"),
        ("[]", "has no record"),
        ("[1]", "item 0: is 1, allowed: an object"),
        ('[{"a": 1}]', "unknown form"),
        ('{"paragraphs": []}\n{"par', "line 2: not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_invalid_files(tmp_path, text, message):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        load_multihop(path)


def test_unknown_form_and_missing_files(write, musique, tmp_path):
    with pytest.raises(DataError, match="unknown form 'squad', known: 2wikimultihopqa, hotpotqa"):
        load_multihop(write("q.json", musique), form="squad")
    with pytest.raises(DataError, match="no such file"):
        load_multihop(tmp_path / "none.json")
    with pytest.raises(DataError, match="item 0: context is missing"):
        load_multihop(write("q.json", musique), form="hotpotqa")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"title": "a"}], "item 0: text is missing, allowed: a text"),
        ([{"title": 1, "text": "b"}], "item 0: title is 1, allowed: a text"),
        ([{"title": "a", "body": "b", "url": 3}], "item 0: url is 3"),
        ({"a": 5}, "'a': is 5, allowed: a text or a list of sentences"),
        ({"a": ["b", 5]}, "'a': sentence 1 is 5, allowed: a text"),
        (["a"], "item 0: is 'a', allowed: an object"),
    ],
)
def test_corpus(write, value, message):
    with pytest.raises(DataError) as error:
        read_corpus(write("c.json", value))
    assert message in str(error.value)


@pytest.mark.parametrize("text", ['{"a": ["b"]\n', "{", '{"title": "a", "text": "b"}\n{"title": 1}\n'])
def test_broken_corpus(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"c\.json"):
        read_corpus(path)


@pytest.mark.parametrize("missing", [0, 1])
def test_ids_that_only_some_passages_have(tmp_path, missing):
    rows = [{"id": str(n), "title": "a", "text": f"b{n}"} for n in range(3)]
    del rows[missing]["id"]
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"line 2: (has|lacks) an id, unlike those before"):
        read_corpus(path)


def test_a_list_of_passages_with_ids_is_refused_where_ids_count(write):
    bare = [{"title": "a", "text": f"b{n}"} for n in range(2)]
    rows = [{"id": f"p{n}", **row} for n, row in enumerate(bare)]
    listed = write("list.json", rows)
    with pytest.raises(DataError) as error:
        read_passages(listed)
    said = "item 0: has an id; passages with ids are JSON lines, one object in each line"
    assert str(error.value) == f"{listed}: {said}"
    assert [one.id for one in read_passages(write("lines.jsonl", rows, lines=True))] == ["p0", "p1"]
    assert [one.text for one in read_passages(write("bare.json", bare))] == ["b0", "b1"]
    assert [one.text for one in read_corpus(listed).corpus()] == ["b0", "b1"]
    articles = [{"id": n, "title": "a", "body": f"b{n}"} for n in range(2)]
    assert [one.text for one in read_passages(write("articles.jsonl", articles, lines=True))] == ["b0", "b1"]


def test_corpus_of_one_passage_in_json_lines(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"title": "a", "text": "b"}\n')
    assert [(p.title, p.text) for p in read_corpus(path).corpus()] == [("a", "b")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "question", "paragraphs", "context", "supporting_facts", "title", "text", "answer"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, min_size=1, max_size=3), st.sampled_from([None, "musique", "hotpotqa"]))
def test_any_json_loads_or_is_refused_in_one_line(write, value, form):
    path = write("any.json", value)
    for read in (lambda: load_multihop(path, form=form), lambda: read_corpus(path)):
        message = ""
        try:
            read()
        except DataError as error:
            message = str(error)
        assert "\n" not in message
