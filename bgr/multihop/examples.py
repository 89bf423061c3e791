"""ReasonGraphQA's questions over one corpus of their facts."""

from __future__ import annotations

from collections.abc import Iterable

from bgr.example import Example
from bgr.multihop.assemble import Draft, Paragraph, assemble
from bgr.multihop.data import MultihopData


def from_examples(name: str, examples: Iterable[Example]) -> MultihopData:
    """Every fact of every question is a passage without a title; those of a question's gold graph are its gold.

    The corpus is the union of the questions' facts: give the examples of one split, or of all, to decide what is
    searched. Hops are those of the gold graph; the kind is its structure (paper, Table 3).

    Raises:
        DataError: two examples have one id.
    """
    return assemble(name, (_draft(example) for example in examples), None)


def _draft(example: Example) -> Draft:
    return Draft(
        id=example.id,
        question=example.question,
        answers=(example.answer,),
        kind=example.structure,
        context=tuple(Paragraph("", fact, (fact,)) for fact in example.facts),  # a fact is one sentence
        gold=tuple(example.graph.nodes),
        hops=example.graph.hops,
        graph=example.graph,
    )
