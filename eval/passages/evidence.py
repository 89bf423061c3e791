"""What a system takes for the evidence of a question, as a graph that can be laid beside the gold graph."""

from __future__ import annotations

from bgr.graph import ROOT, EvidenceGraph
from bgr.metrics.evidence_set import set_scores
from bgr.metrics.ged import GedResult, graph_edit_distance
from bgr.metrics.gm import graph_match
from bgr.metrics.gs import graph_structure_match
from bgr.multihop.data import MultihopQuestion
from eval.passages.found import Found


def evidence_of(found: Found, question: MultihopQuestion) -> EvidenceGraph:
    """The system's graph, its passages numbered as the gold passages are, others after them.

    A system without a graph gives a list: its first passages count, as many as there are gold ones, each from the
    question (the protocol of the ReasonGraphQA paper for single-hop retrievers).
    """
    number = {one: place for place, one in enumerate(question.gold)}
    if found.graph is None:
        first = found.passages[: len(question.gold) + question.missing]
        return EvidenceGraph((ROOT, number.setdefault(one, len(number) + question.missing)) for one in first)
    nodes = found.graph.nodes
    return found.graph.relabel(
        {node: number.setdefault(found.passages[node], len(number) + question.missing) for node in nodes}
    )


def passage_scores(found: Found, question: MultihopQuestion) -> tuple[float, float, float]:
    """Precision, recall and F1 of the passages; gold passages that the corpus lacks are not found."""
    scores = set_scores(evidence_of(found, question).nodes, range(len(question.gold)), missing=question.missing)
    return scores.precision, scores.recall, scores.f1


def graph_scores(found: Found, question: MultihopQuestion, ged_seconds: float) -> tuple[float, float, GedResult]:
    """GM, GS and GED against the question's gold graph.

    Raises:
        ValueError: the question has none.
    """
    gold = question.graph
    if gold is None:
        raise ValueError(f"question {question.id} has no gold graph")
    predicted = evidence_of(found, question)
    distance = graph_edit_distance(predicted, gold, time_limit=ged_seconds)
    return float(graph_match(predicted, gold)), float(graph_structure_match(predicted, gold)), distance
