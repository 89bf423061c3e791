"""The warnings beside an answer."""

import pytest

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline.asking import make_answer
from bgr.pipeline.directions import DirectedGraphs
from bgr.reader.reader import ReaderAnswer, ReaderInput
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.graph_hop.likelihood import DirectionResult

ONE, OTHER = EvidenceGraph([(ROOT, 0)]), EvidenceGraph([(ROOT, 1)])
BOTH, NONE = EvidenceGraph([(ROOT, 0), (ROOT, 1)]), EvidenceGraph()
DOUBT = "both directions found different evidence; check it"


@pytest.mark.parametrize(
    ("forward", "backward", "merged", "warnings"),
    [
        (ONE, ONE, ONE, ()),
        (ONE, OTHER, ONE, (DOUBT,)),
        (ONE, BOTH, BOTH, ()),  # an agreement of one half
        (ONE, OTHER, NONE, ()),  # nothing is shown that could be checked
        (NONE, NONE, NONE, ()),
    ],
)
def test_directions_that_disagree_are_a_reason_to_check(forward, backward, merged, warnings):
    asked = ReaderInput("Who ?", ("Ann came .", "Bob came ."), merged, None)
    found = DirectedGraphs(DirectionResult(forward), DirectionResult(backward))
    answer = make_answer(asked, found, RetrievalResult(merged), None, warnings=("first",), documents=None)
    assert answer.warnings == ("first", *warnings)


def test_a_reader_that_failed_does_not_say_that_the_facts_are_not_enough():
    asked = ReaderInput("Who ?", ("Ann came .",), ONE, None)
    found = DirectedGraphs(DirectionResult(ONE), DirectionResult(ONE))
    for failure, summary, warnings in (
        (None, "not answerable from these facts", ()),
        ("no JSON", "not given: the reader failed", ("the reader gave no answer: no JSON",)),
    ):
        read = ReaderAnswer(None, 0.0, failure=failure)
        answer = make_answer(asked, found, RetrievalResult(ONE), read, warnings=(), documents=None)
        assert (answer.text, answer.summary, answer.warnings) == (None, summary, warnings)
