"""Sets and graphs of evidence against cases counted by hand."""

import random

import pytest

from bgr.cli.compare import passages_output
from bgr.collection.corpus import Corpus, Passage
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.ged import GedResult
from eval.compare.passages import compare_passages
from eval.report.page import render
from eval.report.passages import as_document
from eval.run.passage_scores import ANSWERS, evidence_of, graph_scores, passage_scores, score
from eval.run.question_result import QuestionResult

CHAIN = EvidenceGraph([(ROOT, 0), (0, 1)])
"""Q → a → b"""


def question(**parts):
    return MultihopQuestion("q", "?", ("x",), ("a", "b"), 2, "", **{"graph": CHAIN, **parts})


def found(*passages, edges=None):
    graph = None if edges is None else EvidenceGraph(edges)
    return QuestionResult("q", passages, tuple(float(-rank) for rank in range(len(passages))), graph=graph)


def test_a_list_counts_as_far_as_there_is_gold():
    one = found("b", "z", "a")
    assert evidence_of(one, question()).edges == {(ROOT, 1), (ROOT, 2)}
    assert passage_scores(one, question()) == (0.5, 0.5, 0.5)
    assert graph_scores(one, question(), 1.0)[:2] == (0, 0)


def test_what_the_corpus_lacks_is_not_found():
    """Three are needed, so three of the list count; two of them are right."""
    one, lacking = found("b", "z", "a", "y"), question(missing=1, graph=None)
    assert evidence_of(one, lacking).nodes == (0, 1, 3)
    assert passage_scores(one, lacking) == (pytest.approx(2 / 3),) * 3
    assert passage_scores(found("a", "b"), lacking) == (1, pytest.approx(2 / 3), pytest.approx(0.8))


def test_a_graph_is_read_by_its_passages():
    """Its numbers are places in its own list."""
    right = found("z", "b", "a", edges=[(ROOT, 2), (2, 1)])
    assert evidence_of(right, question()).edges == CHAIN.edges
    assert passage_scores(right, question()) == (1, 1, 1)
    assert graph_scores(right, question(), 1.0) == (1, 1, GedResult(0, 0, True))


def test_the_right_form_over_other_passages():
    other = found("z", "a", edges=[(ROOT, 0), (0, 1)])
    assert evidence_of(other, question()).edges == {(ROOT, 2), (2, 0)}
    assert passage_scores(other, question()) == (0.5, 0.5, 0.5)
    assert graph_scores(other, question(), 1.0)[:2] == (0, 1)


def test_a_star_is_two_edits_from_the_chain():
    star = found("a", "b", edges=[(ROOT, 0), (ROOT, 1)])
    assert graph_scores(star, question(), 1.0) == (0, 0, GedResult(2, 2, True))


def test_an_empty_graph_finds_nothing_whatever_the_list_holds():
    nothing = found("a", "b", edges=[])
    assert passage_scores(nothing, question()) == (0, 0, 0)
    assert graph_scores(nothing, question(), 1.0) == (0, 0, GedResult(4, 4, True))


def test_without_a_gold_graph_there_is_no_score():
    with pytest.raises(ValueError, match="no gold graph"):
        graph_scores(found("a"), question(graph=None), 1.0)


def test_distances_out_of_time_are_told_wherever_they_are_shown(tmp_path):
    rng = random.Random(0)
    ids = tuple(f"p{number}" for number in range(14))
    questions, results = [], []
    for number in range(6):
        graphs = []
        for _ in range(2):
            nodes = rng.sample(range(14), 12)
            graphs.append(EvidenceGraph((rng.choice([ROOT, *nodes[:place]]), node) for place, node in enumerate(nodes)))
        questions.append(MultihopQuestion(f"q{number}", "?", ("x",), ids, 2, "", graph=graphs[0]))
        results.append(QuestionResult(f"q{number}", ids, (0.0,) * len(ids), graph=graphs[1]))
    data = MultihopData("mini", Corpus(Passage(one, "", one) for one in ids), tuple(questions))
    cut, full = score("cut", results, data, ged_seconds=0.0), score("full", results, data)
    assert cut.ged_not_exact > 0 == full.ged_not_exact
    assert score("cut", results, data, ged_seconds=0.0, only=ANSWERS).ged_not_exact == 0  # nobody asked for them
    line = f"Distances (GED) that ran out of time and are upper bounds: {cut.ged_not_exact} of cut."
    for systems, there in (([cut, full], True), ([full], False)):
        comparison = compare_passages(systems, data, {}, samples=10)
        printed = passages_output(comparison, tmp_path).text
        for text in (as_document(comparison).as_markdown(), printed):
            assert (line in text.splitlines()) == there
        assert (line in render(as_document(comparison))) == there
