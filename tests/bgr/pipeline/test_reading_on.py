"""More of the candidates of a search are read where the evidence seems incomplete."""

from dataclasses import replace

import pytest

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import BgrPipeline, reading_on
from bgr.pipeline.graphs import DirectedGraphs
from bgr.pipeline.reading_on import ENOUGH, ROUNDS, next_candidates, read_on
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.likelihood import DirectionResult


def reading(kept, odds=None, chance=None):
    one = DirectionResult(EvidenceGraph(), odds=odds or {}, completeness=chance)
    return DirectedGraphs(one, DirectionResult(EvidenceGraph()), kept=None if kept is None else tuple(kept))


def read_as(chances, calls):
    """A reader of candidates whose evidence is as complete as `chances` says, reading by reading."""

    def read(queries, chosen):
        calls.append([(query.question, numbers) for query, numbers in zip(queries, chosen, strict=True)])
        return [
            reading(numbers, chance=chances[query.question][len(calls)])
            for query, numbers in zip(queries, chosen, strict=True)
        ]

    return read


def completeness(graphs):
    return graphs.forward.completeness


def query(name, count, read_first=4):
    return Query(name, [f"{name} {n}" for n in range(count)], read_first=read_first)


def test_half_of_the_last_candidates_and_the_next_ones_are_read():
    last = reading([0, 1, 2, 5], {(ROOT, 5): 2.0, (5, 1): -1.0, (ROOT, 2): -3.0, (2, 0): -4.0})
    assert next_candidates(last, {0, 1, 2, 3, 5}, 9) == [1, 4, 5, 6]
    assert next_candidates(last, {0, 1, 2, 3, 5, 6, 7, 8}, 9) == [1, 4, 5]
    assert next_candidates(replace(last, forward=last.backward), {0, 1, 2, 5}, 9) == [0, 1, 3, 4]


def test_the_most_complete_reading_counts_and_no_candidate_is_new_twice():
    calls = []
    read = read_as({"doubtful": [0.1, 0.3, 0.7, 0.6]}, calls)
    asked = query("doubtful", 20)
    [found] = read_on([asked], [reading(range(4), chance=0.1)], read, completeness)
    assert found.forward.completeness == 0.7
    assert [numbers for [(_, numbers)] in calls] == [[0, 1, 4, 5], [0, 1, 6, 7], [0, 1, 8, 9]]
    assert len(calls) == ROUNDS


def test_reading_ends_with_enough_evidence_or_with_the_candidates():
    calls = []
    chances = {"soon": [0.1, ENOUGH, 0], "few": [0.1, 0.2, 0.3, 0.4]}
    first = [reading(range(4), chance=0.1) for _ in range(2)]
    soon, few = read_on([query("soon", 20), query("few", 7)], first, read_as(chances, calls), completeness)
    assert [soon.forward.completeness, few.forward.completeness] == [ENOUGH, 0.3]
    assert [[name for name, _ in call] for call in calls] == [["soon", "few"], ["few"]]
    assert calls[1][0][1] == [0, 1, 6]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        (query("sure", 9), reading(range(4), chance=ENOUGH)),
        (query("unknown", 9), reading(range(4), chance=None)),
        (query("no search", 9, read_first=0), reading(range(4), chance=0.1)),
        (query("all read", 4), reading(None, chance=0.1)),
    ],
)
def test_what_is_left_as_it_is(asked, first):
    calls = []
    assert read_on([asked], [first], read_as({}, calls), completeness) == [first]
    assert not calls


def test_a_checkpoint_reads_on(pruned_checkpoint, monkeypatch):
    pipeline = BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu", precision="32")
    facts = [f"persona has {n} people ." for n in range(9)]
    asked = [Query("Who ?", facts, read_first=4), Query("Who ?", facts)]
    chances = iter([0.5, 0.5, 0.6, 0.5, 0.5])  # of the first readings, and of three more of the first question
    before = pipeline.retrieve_directions(asked)
    monkeypatch.setattr(pipeline, "_merged", lambda graphs: replace(merged(graphs), completeness=next(chances, 0.5)))
    merged = BgrPipeline._merged.__get__(pipeline)
    monkeypatch.setattr(reading_on, "ROUNDS", 2)
    found = pipeline._directions(asked)
    again = next_candidates(before[0], set(range(4)), 9)
    assert found[0].kept == tuple(again)
    assert found[0] == pipeline.retrieve_directions(asked[:1], read=[again])[0]
    assert found[1] == before[1]
