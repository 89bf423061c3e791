"""Question and evidence as one text."""

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.reader.reader import linearize

FACTS = ("A leads to B.", "B is 3.", "C is 5.", "unused")


def test_plain_text_holds_the_evidence_alone_in_the_order_of_reasoning():
    graph = EvidenceGraph([(ROOT, 2), (2, 0), (0, 1)])
    text = linearize("How  many?", FACTS, graph, structure=False)
    assert text == "question: How many? evidence: C is 5. A leads to B. B is 3."


def test_the_structure_stands_in_words():
    graph = EvidenceGraph([(ROOT, 0), (0, 1), (ROOT, 2)])
    text = linearize("Which?", FACTS, graph, structure=True)
    assert text == "question: Which? evidence: A leads to B. Then: B is 3. On the other hand: C is 5."


def test_chains_that_meet_go_on_with_then():
    graph = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2)])
    text = linearize("Q", FACTS, graph, structure=True)
    assert text.endswith("A leads to B. On the other hand: B is 3. Then: C is 5.")


def test_no_evidence():
    assert linearize("Why?", FACTS, EvidenceGraph(), structure=True) == "question: Why? evidence:"
