"""The five ways to ask: how a graph is written, how a reply is read, whatever it holds."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.llm_graph.forms import FORMS, MAX_READ, Numbers, covering_chains, repair

NAMES = ["edges", "chains", "parents", "steps", "arrows"]
FACTS = ("Alpha.", "Beta.", "Gamma.", "Delta.")
# 0 and 2 hang from the question, both lead to 3, and so does the question itself; 1 plays no part
GRAPH = EvidenceGraph([(ROOT, 0), (ROOT, 2), (0, 3), (2, 3), (ROOT, 3)])
WRITTEN = {
    "edges": '{"edges": [[0, 1], [0, 3], [0, 4], [1, 4], [3, 4]]}',
    "chains": '{"chains": [[1, 4], [3, 4], [4]]}',
    "parents": '{"facts": [{"fact": 1, "after": []}, {"fact": 3, "after": []}, {"fact": 4, "after": [0, 1, 3]}]}',
    "steps": "From the question, fact 1: Alpha.\nFrom the question, fact 3: Gamma.\n"
    "From the question and fact 1 and fact 3, fact 4: Delta.\n"
    "Edges: Q -> 1, Q -> 3, Q -> 4, 1 -> 4, 3 -> 4",
    "arrows": "digraph evidence {\n  Q -> F1;\n  Q -> F3;\n  Q -> F4;\n  F1 -> F4;\n  F3 -> F4;\n}",
}


def value_of(form, text):
    """The value of a valid reply in the language-model interface."""
    return text if form.schema(48) is None else json.loads(text)


def read(name, value, count=4):
    """Edges, and how many numbers were made up."""
    numbers = Numbers(count)
    return FORMS[name].read(value, numbers), numbers.unknown


def test_there_are_five():
    assert list(FORMS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_by_hand(name):
    form = FORMS[name]
    assert form.write(GRAPH, FACTS) == WRITTEN[name]
    value = value_of(form, WRITTEN[name])
    if form.schema(48) is not None:
        jsonschema.validate(value, form.schema(48))
    edges, unknown = read(name, value)
    assert (set(edges), unknown) == (set(GRAPH.edges), 0)


REPLIES = {
    "edges": {"edges": [[0, 1], [1, 9], [1, 3]]},
    "chains": {"chains": [[1, 9, 3]]},
    "parents": {"facts": [{"fact": 1, "after": []}, {"fact": 9, "after": [1]}, {"fact": 3, "after": [1]}]},
    "steps": "Fact 1 helps.\nFact 9 too.\nEdges: Q -> 1, 1 -> 9, 1 -> 3",
    "arrows": "digraph { Q -> F1; F1 -> F9; F1 -> F3 }",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_number_that_was_made_up_is_dropped_and_counted(name):
    assert read(name, REPLIES[name]) == ([(ROOT, 0), (0, 2)], 1)


def test_more_than_a_pair_and_what_is_no_list():
    assert read("edges", {"edges": [[0, 1, 2], 5, None, [0], [0, "2"]]}) == ([(ROOT, 1)], 0)
    assert read("chains", {"chains": [5, None, [], [2]]}) == ([(ROOT, 1)], 0)
    assert read("parents", {"facts": [5, {}, {"fact": 2}, {"fact": 3, "after": 7}]}) == ([(ROOT, 1), (ROOT, 2)], 0)


def test_a_chain_may_name_the_question():
    assert read("chains", {"chains": [[0, 2], [3, 0, 1]]}) == ([(ROOT, 1), (ROOT, 2), (2, ROOT), (ROOT, 0)], 0)


def test_a_fact_after_unknown_ones_hangs_from_the_question():
    assert read("parents", {"facts": [{"fact": 2, "after": [7, 8]}]}) == ([(ROOT, 1)], 2)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("Q->1->2", [(ROOT, 0), (0, 1)]),
        ("the question -> fact 1; Fact 1 --> fact 2", [(ROOT, 0), (0, 1)]),
        ("[Q] => [1]\n`F1` → **F2**", [(ROOT, 0), (0, 1)]),
        ('"Q" -> "F1";', [(ROOT, 0)]),
        ("Q -> 1.", [(ROOT, 0)]),
        ("1.5 -> 2x and a3 -> b4", None),
        ("nothing at all", None),
        ("", None),
    ],
)
def test_arrows_in_free_text(text, edges):
    assert read("arrows", text) == (edges, 0)


def test_a_number_beyond_all_measure_is_unknown():
    assert read("arrows", f"Q -> {'9' * 6000}") == ([], 1)
    assert read("edges", {"edges": [[0, 10**400], [0, 1e300], [0, -1]]}) == ([], 3)


def test_only_the_last_edges_line_counts():
    text = "Edges: Q -> 4\nOn second thought, 4 -> 3 is wrong.\n**Edges**: Q -> 1"
    assert read("steps", text) == ([(ROOT, 0)], 0)
    assert read("steps", "Q -> 1") == (None, 0)
    assert read("steps", "Edges: none") == (None, 0)


@pytest.mark.parametrize("text", ["1" * MAX_READ, "1 " * MAX_READ, "1 ->" * MAX_READ, "1" + " " * MAX_READ])
def test_a_text_made_to_be_slow_is_not(text, must_end):
    read("arrows", text)
    read("steps", f"Edges: {text}")


@st.composite
def graphs(draw):
    """Evidence graphs of 1 to 7 of 8 facts in any order."""
    order = draw(st.permutations(range(8)))[: draw(st.integers(1, 7))]
    edges = set()
    for number, node in enumerate(order):
        sources = draw(st.sets(st.sampled_from([ROOT, *order[:number]]), min_size=1, max_size=3))
        edges |= {(a, node) for a in sources}
    return EvidenceGraph(edges)


@given(graphs())
def test_what_is_written_is_read(graph):
    for form in FORMS.values():
        numbers = Numbers(8)
        value = value_of(form, form.write(graph, [f"Fact {n}." for n in range(8)]))
        found = repair(form.read(value, numbers), 200)
        assert found.graph == graph
        # chains may tell an edge again, which is no other graph
        assert sum(found.faults.values()) - found.faults["repeated"] + numbers.unknown == 0
        assert form.name == "chains" or not found.faults["repeated"]


@given(graphs())
def test_chains_cover_all_edges_and_no_others(graph):
    chains = covering_chains(graph)
    assert len(chains) <= len(graph.edges)
    assert {edge for chain in chains for edge in zip([ROOT, *chain], chain, strict=False)} == graph.edges
    assert {chain[-1] for chain in chains} == set(graph.leaves)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["Q", "F1", "2"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["edges", "chains", "facts", "fact", "after"]), inner, max_size=4)
    ),
    max_leaves=14,
)
TEXTS = st.lists(st.sampled_from(["Q", "F1", "2", "77", " -> ", "->", "=>", "Edges:", "\n", "[", "fact ", "é"])).map(
    "".join
)


@given(ANY | TEXTS | st.builds(lambda name, value: {name: value}, st.sampled_from(["edges", "chains", "facts"]), ANY))
def test_any_value_is_read(value):
    for form in FORMS.values():
        edges = form.read(value, Numbers(3))
        if edges is not None:
            assert all(a in range(-1, 3) and b in range(-1, 3) for a, b in edges)
            repair(edges, 48)
        if form.schema(48) is not None and jsonschema.Draft202012Validator(form.schema(48)).is_valid(value):
            assert edges is not None
