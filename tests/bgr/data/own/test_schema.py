"""Lines of own data: what they mean, and one-line errors for all that is wrong with them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.corpus import Corpus, Passage
from bgr.data.own.schema import FIELDS, guess_type, parse_question, question_key, read_questions
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph

CORPUS = Corpus([Passage("a", "", "Persona was made by Bergman."), Passage("b", "Bergman", "Born in Uppsala.")])


def parse(record, corpus=None):
    return parse_question(json.dumps(record), "own.jsonl: line 1", 1, corpus)


def test_a_graph_by_numbers(line):
    found = parse(line(graph={"nodes": [0, 1], "edges": [[-1, 0], [0, 1]]}, answer="Uppsala"))
    assert found.level == "graph"
    assert found.graph == EvidenceGraph([(-1, 0), (0, 1)])
    assert found.evidence == (0, 1)
    assert (found.id, found.split, found.type) == ("q000001", None, "query")


def test_facts_that_no_edge_leads_to_are_found_from_the_question(line):
    assert parse(line(graph={"nodes": [0, 1, 3], "edges": [[0, 1]]})).graph.edges == {(-1, 0), (0, 1), (-1, 3)}


def test_evidence_by_text_and_by_number(line):
    found = parse(line(evidence=["Ingmar Bergman was born in Uppsala.", 0, 1]))
    assert (found.level, found.evidence, found.graph) == ("evidence", (1, 0), None)


def test_a_repeated_fact_counts_once_and_numbers_follow_the_list():
    found = parse({"question": "Who?", "facts": ["A.", " A. ", "B."], "evidence": [1, 2]})
    assert (found.facts, found.evidence, found.repeated) == (("A.", "B."), (0, 1), 1)


def test_documents_are_texts_of_the_collection():
    found = parse({"question": "Who?", "documents": ["b", "a"], "evidence": ["a"]}, CORPUS)
    assert found.facts == ("Bergman\nBorn in Uppsala.", "Persona was made by Bergman.")
    assert (found.evidence, found.is_open) == ((1,), False)


def test_evidence_alone_names_documents():
    found = parse({"question": "Who?", "graph": {"edges": [["a", "b"]]}}, CORPUS)
    assert (found.is_open, found.evidence, found.graph.edges) == (True, (0, 1), {(-1, 0), (0, 1)})


def test_a_question_without_an_answer(line):
    found = parse(line(answerable=False))
    assert (found.level, found.evidence, found.answer) == ("unanswerable", (), "")


BAD = {
    "not JSON": ("{", "not valid JSON at column 2"),
    "no object": ("[1]", "is [1], allowed: an object"),
    "twice": ('{"question": "a", "question": "b"}', "key 'question' is repeated"),
    "unknown field": ({"evidences": [1]}, "unknown field 'evidences', allowed: question, facts"),
    "no question": ({"question": None}, "question is missing"),
    "empty question": ({"question": " "}, "question is empty"),
    "long question": ({"question": "a" * 100_001}, "question has 100,001 characters, allowed: 100,000"),
    "surrogate": ({"question": "\ud800"}, "question is '\\ud800', allowed: a text"),
    "no facts": ({"facts": None}, "has no facts, which a line needs unless --collection"),
    "empty facts": ({"facts": []}, "facts has 0 entries, allowed: 1 to 10,000"),
    "many facts": ({"facts": ["a"] * 10_001}, "facts has 10,001 entries"),
    "facts text": ({"facts": "a"}, "facts is 'a', allowed: a list"),
    "number as fact": ({"facts": ["a", 2]}, "facts, number 1 is 2, allowed: a text"),
    "empty fact": ({"facts": ["a", ""]}, "facts, number 1 is empty"),
    "both facts": ({"documents": ["a"]}, "has both facts and documents, allowed: one of them"),
    "documents": ({"facts": None, "documents": ["a"]}, "documents are ids of a collection"),
    "both": ({"evidence": [0], "graph": {}}, "has both graph and evidence"),
    "nothing known": ({"answer": None}, "has no graph, evidence or answer"),
    "empty answer": ({"answer": ""}, "answer is empty"),
    "answer number": ({"answer": 3}, "answer is 3, allowed: a text"),
    "answerable": ({"answerable": "no"}, "answerable is 'no', allowed: true or false"),
    "answer of none": ({"answerable": False}, "answerable is False, but it has answer"),
    "evidence of none": ({"answer": None, "answerable": False, "evidence": [0]}, "but it has evidence"),
    "split": ({"split": "val"}, "split is 'val', allowed: train, dev, test"),
    "type": ({"type": "why"}, "type is 'why', allowed: query"),
    "id": ({"id": ""}, "id is empty"),
    "out of range": ({"evidence": [8]}, "evidence, number 0 is 8, allowed: 0 to 7, or a fact of the line"),
    "true": ({"evidence": [True]}, "evidence, number 0 is True"),
    "root": ({"evidence": [-1]}, "evidence, number 0 is -1"),
    "unknown text": ({"evidence": ["Nothing."]}, "evidence, number 0 is 'Nothing.'"),
    "no evidence": ({"evidence": []}, "evidence has 0 facts, allowed: 1 to 24"),
    "graph list": ({"graph": []}, "graph: is [], allowed: an object"),
    "graph field": ({"graph": {"node": []}}, "graph: unknown field 'node', allowed: nodes, edges"),
    "empty graph": ({"graph": {}}, "graph has 0 facts, allowed: 1 to 24"),
    "edge of three": ({"graph": {"edges": [[0, 1, 2]]}}, "graph: edge 0 is [0, 1, 2], allowed: a list of two facts"),
    "edge to the question": ({"graph": {"edges": [[0, -1]]}}, "graph: edge 0 is -1, allowed: 0 to 7"),
    "not a node": ({"graph": {"nodes": [0], "edges": [[0, 1]]}}, "an edge has fact 1, which is not in nodes"),
    "cycle": ({"graph": {"edges": [[0, 1], [1, 0]]}}, "graph: the graph has a cycle"),
}


@pytest.mark.parametrize(("change", "said"), BAD.values(), ids=BAD)
def test_an_error_names_file_and_line_in_one_line(change, said, line, write):
    record = change if isinstance(change, str) else line(**{"answer": "Uppsala", **change})
    path = write([line(evidence=[0]), "", record])
    with pytest.raises(DataError) as error:
        list(read_questions([path]))
    assert str(error.value).startswith(f"{path}: line 3: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_an_id_that_is_no_document():
    with pytest.raises(DataError, match="documents, number 1 is 'c', allowed: the id of a text of the collection"):
        parse({"question": "Who?", "documents": ["a", "c"], "answer": "x"}, CORPUS)
    with pytest.raises(DataError, match="evidence, number 0 is 0, allowed: the id of a document"):
        parse({"question": "Who?", "evidence": [0]}, CORPUS)


def test_ids_are_unique_in_all_files(line, write):
    first, second = write([line(id="x", answer="a")], "a.jsonl"), write([line(id="x", answer="b")], "b.jsonl")
    with pytest.raises(DataError, match=r"b\.jsonl: line 1: id 'x' is also in .*a\.jsonl: line 1, allowed: unique"):
        list(read_questions([first, second]))


def test_files_that_cannot_be_read(tmp_path, write):
    with pytest.raises(DataError, match="no such file"):
        list(read_questions([tmp_path / "none"]))
    with pytest.raises(DataError, match="no questions; one JSON object a line"):
        list(read_questions([write(["", " "])]))
    (tmp_path / "latin").write_bytes(b'{"question": "\xe9"}')
    with pytest.raises(DataError, match="cannot be read as UTF-8"):
        list(read_questions([tmp_path / "latin"]))
    with pytest.raises(DataError, match="cannot be read"):
        list(read_questions([tmp_path]))


def test_a_mark_at_the_start_and_windows_line_ends_are_no_content(tmp_path, line):
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(line(answer="a")).encode() + b"\r\n")
    assert [one.answer for one in read_questions([path])] == ["a"]


def test_a_line_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("bgr.data.own.schema.MAX_LINE", 10)
    (tmp_path / "own.jsonl").write_text('{"question": "Who?"}')
    with pytest.raises(DataError, match="line 1: has more than 10 characters"):
        list(read_questions([tmp_path / "own.jsonl"]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats() | st.text(max_size=5) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["nodes", "edges", "x"]), inner),
    max_leaves=6,
)


@given(record=st.dictionaries(st.sampled_from([*FIELDS, "else"]), JSON), corpus=st.sampled_from([None, CORPUS]))
def test_whatever_a_line_holds_it_is_read_or_refused_in_one_line(record, corpus):
    full = {"question": "Who made Persona?", "facts": ["Persona was made by Bergman.", "It rains."], **record}
    for one in (record, full):
        found, said = read_or_refused(one, corpus)
        assert found is not None or (said.startswith("own.jsonl: line 1: ") and "\n" not in said)
        if found is not None:
            assert all(0 <= node < len(found.facts) for node in found.evidence)
            assert len(set(found.facts)) == len(found.facts)


def read_or_refused(record, corpus):
    """The question, or the message of the only type of error that is allowed."""
    try:
        return parse(record, corpus), ""
    except DataError as error:
        return None, str(error)


@given(st.text(max_size=60))
def test_any_text_is_refused_in_one_line(text):
    with pytest.raises(DataError) as error:
        parse_question(text, "f: line 1", 1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Is it?", "Yes", "boolean"),
        ("How many are there?", "3", "count"),
        ("How many are there?", "three", "query"),
        ("Who?", "3", "query"),
    ],
)
def test_types_are_guessed(question, answer, kind):
    assert guess_type(question, answer) == kind


def test_equal_questions():
    assert question_key(" Who  is it? ") == question_key("who is it")
    assert question_key("Who is it?") != question_key("Who was it?")
