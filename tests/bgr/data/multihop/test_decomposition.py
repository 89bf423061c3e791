"""MuSiQue's decompositions as evidence graphs, by hand; the published sample where its path is given."""

import json
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.multihop.load import load_multihop
from bgr.data.multihop.musique import (
    NO_PARAGRAPH,
    NO_TEXT,
    NOT_ANSWERABLE,
    OTHER_PARAGRAPHS,
    SubQuestion,
    decomposition_graph,
    read_decompositions,
    references,
)
from bgr.data.records import read_records
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.utils.hashing import hash_place

TEXTS = ("Oslo\nA harbour.", "Oslo\nA band.", "Ship\nIt sails.", "Fjord\nIt is deep.")


def record(steps, name="2hop__1_2", **fields):
    """A question over `TEXTS`, whose ``idx`` are 10, 11, …; steps are (question, idx)."""
    used = {idx for _, idx in steps}
    paragraphs = [
        {"idx": 10 + n, "title": title, "paragraph_text": text, "is_supporting": 10 + n in used}
        for n, (title, text) in enumerate(whole.split("\n") for whole in TEXTS)
    ]
    decomposition = [
        {"id": n, "question": q, "answer": "?", "paragraph_support_idx": i} for n, (q, i) in enumerate(steps)
    ]
    plain = {"id": name, "question": "What sails?", "answer": "a ship", "answer_aliases": ["ship"]}
    return {**plain, "paragraphs": paragraphs, "question_decomposition": decomposition, **fields}


def read(*records):
    return read_decompositions([(f"f.json: item {n}", one) for n, one in enumerate(records)])


def graph_of(*steps):
    return decomposition_graph([SubQuestion(*step) for step in steps])


def test_a_chain_by_hand():
    (example,) = read(record([("Where is Oslo?", 12), ("Who sails to #1 ?", 10)])).examples
    assert (example.id, example.question, example.answer, example.type) == (
        "2hop__1_2",
        "What sails?",
        "a ship",
        "query",
    )
    assert example.facts == TEXTS
    assert example.graph == EvidenceGraph([(ROOT, 2), (2, 0)])
    assert (example.structure, example.graph.hops, example.program) == ("SC-MH", 2, ())


@pytest.mark.parametrize(
    ("steps", "edges"),
    [
        ([("a", 0), ("b", 1), ("of #1 and #2", 2)], [(ROOT, 0), (ROOT, 1), (0, 2), (1, 2)]),
        ([("a", 0), ("of #1", 1), ("of #1", 2), ("#2 and #3", 3)], [(ROOT, 0), (0, 1), (0, 2), (1, 3), (2, 3)]),
        ([("a", 0), ("#1 >> capital", 1), ("of #2 or #1", 2)], [(ROOT, 0), (0, 1), (1, 2), (0, 2)]),
        # one paragraph answers two sub-questions: one node, no edge to itself
        ([("a", 0), ("of #1", 0), ("of #2", 1)], [(ROOT, 0), (0, 1)]),
        ([("a", 0), ("of #1", 1), ("b", 1)], [(ROOT, 0), (0, 1), (ROOT, 1)]),
        # a reference back to an earlier paragraph: no edge
        ([("a", 0), ("of #1", 1), ("of #2", 0), ("of #3", 2)], [(ROOT, 0), (0, 1), (0, 2)]),
        # not the number of an earlier sub-question: plain text
        ([("the #1 hit, #9, #0", 0), ("of #2", 1)], [(ROOT, 0), (ROOT, 1)]),
    ],
)
def test_graphs_by_hand(steps, edges):
    assert graph_of(*steps) == EvidenceGraph(edges)


def test_references_in_a_text():
    assert references("When did #2 leave #1, and #2?", 2) == [1, 0]
    assert references("#12 is not #1, nor is #00001", 3) == [0]
    assert references("#", 3) == []


@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(1, 9), max_size=3)), min_size=1, max_size=8))
def test_any_decomposition_is_a_graph_over_its_paragraphs(steps):
    """Compared with a slow version that adds edges one by one and skips those back to an earlier paragraph."""
    found = graph_of(*((" ".join(f"#{n}" for n in sorted(named)), paragraph) for paragraph, named in steps))
    order = list(dict.fromkeys(paragraph for paragraph, _ in steps))
    assert set(found.nodes) == set(order)
    twin = nx.DiGraph()
    for number, (paragraph, named) in enumerate(steps):
        sources = [steps[n - 1][0] for n in named if n <= number]
        twin.add_edges_from((a, paragraph) for a in sources if order.index(a) < order.index(paragraph))
        if not sources:
            twin.add_edge(ROOT, paragraph)
    assert found.edges == set(twin.edges)


def test_equal_paragraphs_are_one_fact():
    one = record([("a", 10), ("of #1", 12)])
    one["paragraphs"].insert(0, {**one["paragraphs"][2], "idx": 3, "is_supporting": False})
    (example,) = read(one).examples
    assert example.facts == (TEXTS[2], TEXTS[0], TEXTS[1], TEXTS[3])
    assert example.graph == EvidenceGraph([(ROOT, 1), (1, 0)])


def test_without_idx_paragraphs_are_numbered_in_order():
    one = record([("a", 10), ("of #1", 12)])
    for paragraph in one["paragraphs"]:
        del paragraph["idx"]
    for step, place in zip(one["question_decomposition"], (0, 2), strict=True):
        step["paragraph_support_idx"] = place
    assert read(one).examples[0].graph == EvidenceGraph([(ROOT, 0), (0, 2)])


def test_questions_without_sample_are_listed_by_reason():
    good = [("a", 10), ("of #1", 12)]
    unsupported = record(good, "e")
    unsupported["paragraphs"][3]["is_supporting"] = True
    found = read(
        record(good, "a", answerable=False),
        record([("a", 10), ("of #1", None)], "b"),
        record(good, "c", answer=" "),
        record(good, "d"),
        unsupported,
        record(good, "f", answerable=False),
    )
    assert [example.id for example in found.examples] == ["d"]
    assert found.dropped == {
        NOT_ANSWERABLE: ("a", "f"),
        NO_PARAGRAPH: ("b",),
        NO_TEXT: ("c",),
        OTHER_PARAGRAPHS: ("e",),
    }


BAD = [
    (("question_decomposition",), ..., "question_decomposition is missing"),
    (("question_decomposition", 1), 5, "number 1: is 5, allowed: an object"),
    (("question_decomposition", 1, "question"), None, "question is None, allowed: a text"),
    (("question_decomposition", 1, "paragraph_support_idx"), 4, "paragraph_support_idx is 4, allowed: the idx"),
    (("question_decomposition", 1, "paragraph_support_idx"), True, "paragraph_support_idx is True"),
    (("question_decomposition", 1, "paragraph_support_idx"), [], "paragraph_support_idx is []"),
    (("paragraphs", 1, "idx"), 10, "paragraph 1: idx is 10, allowed: a unique integer"),
    (("paragraphs", 1, "idx"), {}, "paragraph 1: idx is {}"),
    (("paragraphs", 1, "title"), 7, "title is 7, allowed: a text"),
    (("id",), "2hop__0", "which an earlier record has"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD, ids=[text for _, _, text in BAD])
def test_a_damaged_record_is_one_line(path, value, message, change):
    good = [("a", 10), ("of #1", 12)]
    bad = change(record(good), path, value)
    with pytest.raises(DataError) as raised:
        read(record(good, "2hop__0"), bad)
    assert str(raised.value).startswith("f.json: item 1: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["idx", "question", "paragraph_support_idx", "title"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from([path for path, _, _ in BAD]), ANY)
def test_any_value_anywhere_is_read_or_refused(path, value):
    one = record([("a", 10), ("of #1", 12)])
    inner = one
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    try:
        found = read(one)
    except DataError:
        return
    assert len(found.examples) + sum(map(len, found.dropped.values())) == 1


def test_the_split_by_hash():
    ids = [f"2hop__{n}" for n in range(4000)]
    places = [hash_place(one) for one in ids]
    assert places == [hash_place(one) for one in reversed(ids)][::-1]
    for place, share in enumerate((0.7, 0.1, 0.2)):
        assert abs(places.count(place) / len(ids) - share) < 0.03
    # a larger share for train keeps its samples: the shares follow each other
    more = [hash_place(one, (80, 10, 10)) for one in ids]
    assert all(new == 0 for old, new in zip(places, more, strict=True) if old == 0)
    assert {hash_place(one, (0, 0, 3)) for one in ids} == {2}
    # SHA-256 of "a" begins with ca978112ca1bbdca, 0.791 of 2^64
    assert [hash_place("a", (n, 100 - n)) for n in (79, 80)] == [1, 0]


@pytest.mark.parametrize("shares", [(0, 0, 0), (-1, 50, 51), ()])
def test_invalid_shares(shares):
    with pytest.raises(ValueError, match="shares"):
        hash_place("a", shares)


@pytest.mark.workflow
def test_every_question_of_the_published_sample_is_a_graph_over_its_supporting_paragraphs(multihop_sample):
    if multihop_sample is None:
        pytest.skip("BGR_MULTIHOP names no folder with HippoRAG's sample")
    records = read_records(multihop_sample / "musique_train.json")
    found = read_decompositions(records)
    assert not found.dropped
    assert len(found.examples) == len(records)
    for (_, raw), example in zip(records, found.examples, strict=True):
        assert example.id == raw["id"]
        graph = example.graph.to_networkx()
        assert nx.is_directed_acyclic_graph(graph)
        assert nx.descendants(graph, ROOT) == set(example.graph.nodes)
        supporting = {f"{p['title']}\n{p['paragraph_text']}" for p in raw["paragraphs"] if p["is_supporting"]}
        assert {example.facts[node] for node in example.graph.nodes} == supporting
        # each reference of the file is an edge: parsed here a second time
        steps = raw["question_decomposition"]
        place = [raw["paragraphs"][step["paragraph_support_idx"]] for step in steps]
        whole = [f"{p['title']}\n{p['paragraph_text']}" for p in place]
        for a, b in combinations(range(len(steps)), 2):
            if f"#{a + 1}" in steps[b]["question"]:
                assert (example.facts.index(whole[a]), example.facts.index(whole[b])) in example.graph.edges
    assert json.loads(json.dumps([example.to_json() for example in found.examples]))


def test_questions_over_a_corpus_have_the_same_graphs(tmp_path):
    """Their nodes are numbers into the gold passages; an incomplete decomposition gives no graph."""
    chain = record([("Where is Oslo?", 12), ("Who sails to #1 ?", 10)], "2hop__1")
    bare = record([("a", 10), ("b", 11)], "2hop__2")
    for step in bare["question_decomposition"]:
        del step["question"]
    without = record([("a", 10)], "1hop__3")
    del without["question_decomposition"]
    (tmp_path / "m.json").write_text(json.dumps([chain, bare, without]))
    data = load_multihop(tmp_path / "m.json")
    first, *others = data.questions
    names = [data.corpus[data.corpus.index_of[one]].whole for one in first.gold]
    assert [[names[node] if node != ROOT else "Q" for node in edge] for edge in sorted(first.graph.edges)] == [
        ["Q", TEXTS[2]],
        [TEXTS[2], TEXTS[0]],
    ]
    assert [question.graph for question in others] == [None, None]
