"""Answers of a reader over a dataset, from gold, retrieved or no evidence."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.example import Example
from bgr.graph import EvidenceGraph
from bgr.reader.linearise import linearise
from bgr.reader.reader import Reader, ReaderAnswer, ReaderInput

EVIDENCE = ("gold", "retrieved", "none")


def read_answers(
    reader: Reader,
    examples: Sequence[Example],
    graphs: Sequence[EvidenceGraph] = (),
    *,
    evidence: str = "retrieved",
    batch_size: int = 32,
    progress: bool = False,
) -> list[ReaderAnswer]:
    """One answer for each example, in order.

    Args:
        reader: the reader.
        examples: questions with their candidate facts.
        graphs: a retriever's graphs, one an example; looked at for ``retrieved`` alone.
        evidence: ``gold`` for the examples' own graphs, ``retrieved`` for `graphs`; ``none`` takes all facts away and
            yet has the model answer, to show what it says without having read anything.
        batch_size: questions read together.
        progress: show a bar on standard error.

    Raises:
        ValueError: another word for `evidence`, or not as many graphs as examples.
    """
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence is {evidence!r}, allowed: {', '.join(EVIDENCE)}")
    if evidence == "none":
        structure, nothing = reader.settings.structure, EvidenceGraph()
        texts = [linearise(example.question, (), nothing, structure=structure) for example in examples]
        return reader.read(texts, batch_size=batch_size, progress=progress)
    chosen = [example.graph for example in examples] if evidence == "gold" else graphs
    if len(chosen) != len(examples):
        raise ValueError(f"{len(chosen)} graphs for {len(examples)} examples")
    items = [ReaderInput(e.question, e.facts, graph) for e, graph in zip(examples, chosen, strict=True)]
    return reader.answer(items, batch_size=batch_size, progress=progress)
