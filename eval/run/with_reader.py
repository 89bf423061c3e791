"""One reader over what several systems retrieved, over the gold graph (the bound) and over nothing (what may leak).

Answers of a reader over a dataset, from gold, retrieved or no evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bgr.data.example import Example
from bgr.graph.evidence_graph import Edge, EvidenceGraph
from bgr.reader.reader import Reader, ReaderAnswer, ReaderInput, linearize
from bgr.retrievers.base import RetrievalResult
from eval.compare.compare import GOLD, NOTHING
from eval.run.evaluate import Predictions

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
        texts = [linearize(example.question, (), nothing, structure=structure) for example in examples]
        return reader.read(texts, batch_size=batch_size, progress=progress)
    chosen = [example.graph for example in examples] if evidence == "gold" else graphs
    if len(chosen) != len(examples):
        raise ValueError(f"{len(chosen)} graphs for {len(examples)} examples")
    items = [ReaderInput(e.question, e.facts, graph) for e, graph in zip(examples, chosen, strict=True)]
    return reader.answer(items, batch_size=batch_size, progress=progress)


def with_answers(
    reader: Reader,
    systems: Mapping[str, Predictions],
    examples: Sequence[Example],
    *,
    batch_size: int = 32,
    progress: bool = False,
) -> dict[str, Predictions]:
    """The systems with the reader's answers, and two more: `GOLD`, and `NOTHING`, from the question alone.

    A question is read once for each different graph: systems that agree share the answer. Answers that were there are
    replaced, so that all come from one reader.

    Args:
        reader: the reader.
        systems: what was retrieved for the examples.
        examples: the questions.
        batch_size: questions read together.
        progress: show a bar on standard error.
    """
    gold = Predictions([RetrievalResult(example.graph) for example in examples])
    all_systems = {**{name: system for name, system in systems.items() if name != NOTHING}, GOLD: gold}
    place: dict[tuple[int, frozenset[Edge]], int] = {}
    graphs: list[EvidenceGraph] = []
    for system in all_systems.values():
        for number, result in enumerate(system.results):
            key = (number, result.graph.edges)
            if key not in place:
                place[key] = len(graphs)
                graphs.append(result.graph)
    asked = [examples[number] for number, _ in place]
    found = read_answers(reader, asked, graphs, batch_size=batch_size, progress=progress)
    answered = {}
    for name, system in all_systems.items():
        rows = [place[number, result.graph.edges] for number, result in enumerate(system.results)]
        answered[name] = replace(system, answers=[found[row].text for row in rows])
    alone = read_answers(reader, examples, evidence="none", batch_size=batch_size, progress=progress)
    nothing = [RetrievalResult(EvidenceGraph()) for _ in examples]
    return {**answered, NOTHING: Predictions(nothing, answers=[answer.text for answer in alone])}
