"""Questions that lose a fact of their evidence."""

import pytest

from bgr.data.example import Example
from bgr.data.own.candidates import withheld
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

CHAIN = EvidenceGraph([(ROOT, 0), (0, 1)])


def example(id, facts=("Persona was made by Bergman.", "Bergman was born in Uppsala.", "It rains."), graph=CHAIN):
    return Example(id, "Where?", facts, graph, "Uppsala" if graph.nodes else "", (), "query")


@pytest.mark.parametrize(("share", "count"), [(0, 0), (0.01, 1), (0.5, 5), (1, 10)])
def test_a_share_loses_one_fact_of_the_evidence(share, count):
    examples = [example(f"q{n}") for n in range(10)] + [example("open", graph=EvidenceGraph())]
    found = withheld(examples, share, 0, {one.id for one in examples})
    assert len(found) == len({one.id for one in found}) == count
    for one in found:
        assert not one.answerable
        assert (one.answer, one.missing) == ("", "one")
        [gone] = set(examples[0].facts) - set(one.facts)
        assert gone != "It rains."
    assert found == withheld(examples, share, 0, {one.id for one in examples})


def test_both_facts_of_a_chain_are_withheld_at_times():
    found = withheld([example(f"q{n}") for n in range(20)], 1, 0, set())
    assert {one.facts[0] for one in found} == {"Persona was made by Bergman.", "Bergman was born in Uppsala."}


def test_not_where_another_fact_has_the_answer_or_nothing_is_left():
    other = example("a", facts=("Persona was made by Bergman.", "Bergman was born in Uppsala.", "Uppsala is old."))
    only = example("b", facts=("Bergman was born in Uppsala.",), graph=EvidenceGraph([(ROOT, 0)]))
    assert withheld([other, only], 1, 0, set()) == []


def test_a_single_fact_is_all_and_ids_that_are_taken_are_avoided():
    one = example("a", graph=EvidenceGraph([(ROOT, 1)]))
    [found] = withheld([one], 1, 0, {"a", "a-withheld"})
    assert (found.id, found.missing, found.facts) == ("a-withheld+", "all", (one.facts[0], "It rains."))
