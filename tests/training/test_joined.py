"""Two questions as one."""

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions.joined import MAX_WORDS, join, joined_questions


def example(name, facts, edges, question="Which one ?"):
    return Example(name, f"{name}: {question}", tuple(facts), EvidenceGraph(edges), name.upper(), (), "query")


ONE = example("a", ["a0", "shared", "a2"], [(ROOT, 2), (2, 0)])
OTHER = example("b", ["shared", "b1"], [(ROOT, 1)])


def test_the_evidence_is_that_of_both_over_the_candidates_of_both():
    found = join(ONE, OTHER, " And {}")
    assert found.question == "a: Which one ? And b: Which one ?"
    assert found.facts == ("a0", "shared", "a2", "b1")
    assert found.graph.edges == {(ROOT, 2), (2, 0), (ROOT, 3)}
    assert (found.id, found.answer) == ("a+b", "A; B")


def test_questions_that_share_evidence_or_are_long_are_not_joined():
    third = example("c", ["b1", "c1"], [(ROOT, 1)])  # the other's evidence is among its candidates
    long = example("d", ["d0"], [(ROOT, 0)], " ".join(["word"] * MAX_WORDS))
    none = Example("e", "None ?", ("e0",), EvidenceGraph(), "", (), "query", "all")
    found = joined_questions([ONE, OTHER, third, long, none], 20.0)
    pairs = {frozenset(one.id.split("+")) for one in found}
    assert pairs == {frozenset("ab"), frozenset("ac")}
    assert all(one.answerable for one in found)


def test_the_share_and_the_seed_decide():
    many = [example(f"q{n}", [f"fact {n}"], [(ROOT, 0)]) for n in range(40)]
    found = joined_questions(many, 0.25)
    assert len(found) == 10
    assert found == joined_questions(many, 0.25)
    assert found != joined_questions(many, 0.25, seed=1)
    assert joined_questions(many, 0.0) == []
    assert joined_questions([], 0.5) == []
    assert joined_questions(many[:1], 1.0) == []
