"""Conversion from and to the authors' JSON."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.cli import main
from bgr.data.example import Example
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.io.convert import from_released, lost_edges, read_released, to_released
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

PROGRAM = (
    {"function": "Find", "dependencies": [], "inputs": ["a"]},
    {"function": "What", "dependencies": [0], "inputs": []},
)
JOIN = [(ROOT, 0), (ROOT, 3), (0, 2), (3, 2), (2, 1)]


def example(edges, facts=("a.", "b.", "c.", "d.", "e.")):
    return Example("x-000000", "Q?", facts, EvidenceGraph(edges), "yes", PROGRAM, "query")


def test_the_form():
    record = to_released(example([(ROOT, 4), (4, 1)]))
    assert record["order_true_fact"] == [
        {"facts": "e.", "relation": {"before": [], "after": ["b."]}},
        {"facts": "b.", "relation": {"before": ["e."], "after": []}},
    ]
    assert record["fact"] == ["a.", "b.", "c.", "d.", "e."]
    assert set(record) == {"question", "answer", "program", "fact", "order_true_fact"}


@pytest.mark.parametrize("edges", [[(ROOT, 2)], JOIN, [(ROOT, 0), (0, 1), (0, 2), (ROOT, 4)]])
def test_there_and_back(edges):
    there = example(edges)
    assert from_released(json.loads(json.dumps(to_released(there))), "x-000000", "f") == there
    assert lost_edges(there) == 0


def test_limitations_of_the_released_form():
    both = example([(ROOT, 0), (0, 1), (ROOT, 1)])
    assert lost_edges(both) == 1
    record = to_released(both)
    assert from_released(record, "x", "f").graph == both.graph
    assert [node.get("from_question") for node in record["order_true_fact"]] == [None, True]
    # what the authors' script, which does not know the field, makes of it
    del record["order_true_fact"][1]["from_question"]
    assert from_released(record, "x", "f").graph.edges == {(ROOT, 0), (0, 1)}
    record["order_true_fact"][1]["from_question"] = "yes"
    with pytest.raises(DataError, match="from_question is 'yes', allowed: true or false"):
        from_released(record, "x", "f")
    twice = example([(ROOT, 1), (1, 3)], ("a.", "b.", "a.", "b."))
    with pytest.raises(DataError, match="two gold facts are equal"):
        to_released(twice)


def test_repeated_sentences():
    """Copies that are not gold are kept; a gold fact becomes the first occurrence of its sentence."""
    kept = example([(ROOT, 0), (0, 4)], ("a.", "b.", "a.", "b.", "c."))
    assert from_released(to_released(kept), "x-000000", "f") == kept
    moved = from_released(to_released(example([(ROOT, 3), (3, 2)], ("a.", "b.", "a.", "b."))), "x", "f")
    assert moved.facts == ("a.", "b.", "a.", "b.")
    assert moved.graph.edges == {(ROOT, 1), (1, 0)}


def test_the_type_without_a_program():
    bare = Example("x-000000", "Q?", ("a.",), EvidenceGraph([(ROOT, 0)]), "3", (), "count")
    record = to_released(bare)
    assert record["type"] == "count"
    assert from_released(record, "x-000000", "f") == bare
    del record["type"]
    with pytest.raises(DataError, match="f: field 'type' is missing, which is required without a program"):
        from_released(record, "x", "f")


def test_the_authors_names_of_functions_are_kept():
    record = to_released(example([(ROOT, 0)]))
    record["program"][-1]["function"] = "QueryName"
    ours = from_released(record, "x", "f")
    assert ours.type == "query"
    assert to_released(ours) == record


def test_numbers_as_answers_and_other_fields():
    record = to_released(example([(ROOT, 0)]))
    ours = from_released({**record, "answer": 5, "choices": ["a"]}, "x", "f")
    assert to_released(ours) == {**record, "answer": "5"}


def random_example(rng: Random, texts: list[str]) -> Example:
    """Any graph over 1 to 8 facts, with joins and with edges from the question to facts that have other edges."""
    facts = tuple(rng.choice(texts) for _ in range(rng.randint(1, 8)))
    nodes = rng.sample(range(len(facts)), rng.randint(1, len(facts)))
    edges = []
    for place, node in enumerate(nodes):
        before = [ROOT, *nodes[:place]]
        edges += [(a, node) for a in rng.sample(before, rng.randint(1, min(3, len(before))))]
    kind, program = rng.choice([("query", PROGRAM), ("boolean", ())])
    return Example("x-000000", rng.choice(texts), facts, EvidenceGraph(edges), rng.choice(texts), program, kind)


def with_losses(there: Example) -> Example:
    """The sample with the losses that the module's docstring lists."""
    facts, graph = there.facts, there.graph
    first = {ROOT: ROOT, **{node: facts.index(facts[node]) for node in graph.nodes}}
    edges = [(first[a], first[b]) for a, b in graph.edges]
    return Example(there.id, there.question, facts, EvidenceGraph(edges), there.answer, there.program, there.type)


SENTENCE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(str.strip),
    st.sampled_from(['"', "\\n", "a."]),
)


@given(texts=st.lists(SENTENCE, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_ours_to_theirs_to_ours(texts, seed):
    there = random_example(Random(seed), texts)
    if len({there.facts[n] for n in there.graph.nodes}) < len(there.graph.nodes):
        with pytest.raises(DataError, match="two gold facts are equal"):
            to_released(there)
        return
    back = from_released(json.loads(json.dumps(to_released(there))), there.id, "f")
    assert back == with_losses(there)
    assert len(there.graph.edges) == len(back.graph.edges)


def sorted_graph(record: dict) -> dict:
    """A record with its nodes and their neighbors in a fixed order."""
    nodes = [
        {"facts": node["facts"], "relation": {end: sorted(node["relation"][end]) for end in ("before", "after")}}
        for node in record["order_true_fact"]
    ]
    return {**record, "order_true_fact": sorted(nodes, key=lambda node: node["facts"])}


@given(texts=st.lists(SENTENCE, min_size=1, max_size=12), seed=st.integers(0, 2**32))
def test_theirs_to_ours_to_theirs(texts, seed):
    """Equal for any order of nodes and neighbors in the file, and identical for the order of reasoning."""
    rng = Random(seed)
    there = random_example(rng, texts)
    if len({there.facts[n] for n in there.graph.nodes}) < len(there.graph.nodes):
        return
    record = to_released(with_losses(there))
    assert to_released(from_released(record, "x-000000", "f")) == record
    shuffled = json.loads(json.dumps(record))
    rng.shuffle(shuffled["order_true_fact"])
    for node in shuffled["order_true_fact"]:
        rng.shuffle(node["relation"]["before"])
        rng.shuffle(node["relation"]["after"])
    again = to_released(from_released(shuffled, "x-000000", "f"))
    assert again == record
    assert sorted_graph(again) == sorted_graph(shuffled)


@pytest.mark.parametrize(
    "change",
    [
        {"fact": "abcde"},
        {"fact": [1, 2]},
        {"question": None},
        {"answer": ["yes"]},
        {"program": [{"function": "What"}]},
        {"program": [{"function": "Guess", "dependencies": [], "inputs": []}]},
        {"program": {"0": "What"}},
        {"order_true_fact": {"a.": 1}},
        {"order_true_fact": [{"facts": "a.", "relation": {"before": "a.", "after": []}}]},
        {"order_true_fact": [{"facts": "a.", "relation": {"before": [], "after": ["a."]}}]},
        {"order_true_fact": [{"facts": ["a."], "relation": {"before": [], "after": []}}]},
        {"order_true_fact": [{"facts": "a.", "relation": []}]},
    ],
)
def test_fields_of_a_wrong_type(change):
    with pytest.raises(DataError, match=r"^f: "):
        from_released({**to_released(example(JOIN)), **change}, "x", "f")


def test_bad_records_are_named(tmp_path):
    good = to_released(example(JOIN))
    path = tmp_path / "train.json"
    for change in (
        {"fact": ["a."]},
        {"program": []},
        {"order_true_fact": [{"facts": "a.", "relation": {"before": ["b."], "after": []}}]},
    ):
        path.write_text(json.dumps([good, {**good, **change}]))
        with pytest.raises(DataError, match=r"train.json: item 1"):
            read_released(path, "train")
    del good["answer"]
    path.write_text(json.dumps([good]))
    with pytest.raises(DataError, match="item 0: answer is missing"):
        read_released(path, "train")


def test_convert_both_ways(tmp_path, kb, source, encoder, capsys):
    result = build(kb, read_questions(source).questions, encoder, Settings())
    write_dataset(tmp_path / "ours", result.splits, [], {})
    assert main(["data", "convert", str(tmp_path / "ours"), str(tmp_path / "theirs"), "--to", "released"]) == 0
    assert {p.name for p in (tmp_path / "theirs").iterdir()} == {"train.json", "valid.json", "test.json", "SHA256SUMS"}
    assert main(["data", "convert", str(tmp_path / "theirs"), str(tmp_path / "back"), "--to", "bgr"]) == 0
    capsys.readouterr()
    for split in ("train", "dev", "test"):
        ours, back = load_split(tmp_path / "ours", split), load_split(tmp_path / "back", split)
        assert [(e.question, e.facts, e.type) for e in ours] == [(e.question, e.facts, e.type) for e in back]
        assert [e.graph for e in ours] == [e.graph for e in back]
    # an older export has another name for dev
    (tmp_path / "theirs" / "valid.json").rename(tmp_path / "theirs" / "dev.json")
    assert main(["data", "convert", str(tmp_path / "theirs"), str(tmp_path / "older"), "--to", "bgr"]) == 0
    assert (tmp_path / "older" / "dev.jsonl").read_bytes() == (tmp_path / "back" / "dev.jsonl").read_bytes()
    (tmp_path / "theirs" / "valid.json").write_text("[]")
    capsys.readouterr()
    assert main(["data", "convert", str(tmp_path / "theirs"), str(tmp_path / "both"), "--to", "bgr"]) == 1
    assert "both valid.json and dev.json" in capsys.readouterr().err
    assert main(["data", "convert", str(tmp_path / "ours"), str(tmp_path / "theirs"), "--to", "released"]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["data", "convert", str(tmp_path / "none"), str(tmp_path / "x"), "--to", "bgr"]) == 1
    assert not (tmp_path / "x").exists()
