"""ReasonGraphQA's facts as passages."""

from bgr.data.example import Example
from bgr.data.multihop.assemble import from_examples
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def example(name, facts, edges, answer="yes"):
    return Example(name, f"{name}?", tuple(facts), EvidenceGraph(edges), answer, (), "boolean")


def test_facts_are_one_corpus():
    data = from_examples(
        "mini",
        [
            example("a", ["x is y", "y is z", "noise"], [(ROOT, 0), (0, 1)]),
            example("b", ["noise", "x is y"], [(ROOT, 1)]),
        ],
    )
    assert [passage.text for passage in data.corpus] == ["x is y", "y is z", "noise"]
    first, second = data.questions
    assert (first.hops, first.kind, first.answers) == (2, "SC-MH", ("yes",))
    assert [data.corpus.index_of[one] for one in first.gold] == [0, 1]
    assert ([data.corpus.index_of[one] for one in second.gold], second.hops) == ([0], 1)


def test_an_example_without_an_answer_has_none():
    asked = [example("a", ["x is y"], [(ROOT, 0)], ""), example("b", ["x is y"], [(ROOT, 0)])]
    assert [question.answers for question in from_examples("mini", asked).questions] == [(), ("yes",)]
