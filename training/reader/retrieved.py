"""What a reader meets in use and not in a dataset: graphs that a trained retriever finds, and graphs with a fact too
few, too many, or about something else.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.reader.question_words import whole_words
from bgr.retrievers.base import Query
from bgr.utils.atomic_io import new_file
from bgr.utils.progress import progress_bar
from training.search.own_pools import weights_hash

GROUP = 128


@dataclass(frozen=True)
class Retrieved:
    """What a retriever found for a question: the graph, and the probability that the evidence is complete."""

    graph: EvidenceGraph
    completeness: float | None


def retrieve(
    checkpoint: Path,
    examples: Sequence[Example],
    file: Path,
    *,
    device: str | torch.device | None = None,
    progress: bool = True,
) -> dict[str, Retrieved]:
    """Run a checkpoint over questions, and keep what it finds in `file`, whose name gets the hash of the checkpoint:
    there an interrupted training finds it again. No graph is refused, since a reader is to judge by itself. It runs on
    `device`, by default a GPU if there is one.

    Raises:
        BgrError: the checkpoint cannot be loaded, or the file is damaged.
    """
    file = file.with_stem(f"{file.stem}-{weights_hash(checkpoint)[:12]}")
    if file.exists():
        found = _read(file)
        if found.keys() == {example.id for example in examples}:
            return found
    pipeline = BgrPipeline.from_pretrained(checkpoint, device=device)
    pipeline.settings = replace(pipeline.settings, refusal=replace(pipeline.settings.refusal, threshold=0.0))
    found = {}
    with progress_bar(len(examples), "retrieved graphs", "question", show=progress) as bar:
        for start in range(0, len(examples), GROUP):
            group = examples[start : start + GROUP]
            queries = [Query(example.question, example.facts) for example in group]
            for example, result in zip(group, pipeline.retrieve(queries), strict=True):
                found[example.id] = Retrieved(result.graph, result.completeness)
            bar.update(len(group))
    with new_file(file, parents=True) as part:
        records = (
            {"id": name, "edges": sorted(one.graph.edges), "completeness": one.completeness}
            for name, one in found.items()
        )
        part.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return found


def _read(file: Path) -> dict[str, Retrieved]:
    try:
        records: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return {
            one["id"]: Retrieved(EvidenceGraph((a, b) for a, b in one["edges"]), one["completeness"]) for one in records
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not the graphs of a retriever: {error}") from None


def without(graph: EvidenceGraph, fact: int) -> EvidenceGraph:
    """The graph without a fact; what followed it follows what was before it."""
    before, after = graph.predecessors(fact), graph.successors(fact)
    kept = [(a, b) for a, b in graph.edges if fact not in (a, b)]
    return EvidenceGraph([*kept, *((a, b) for a in before for b in after)])


def with_more(graph: EvidenceGraph, others: Sequence[int], most: int, draw: random.Random) -> EvidenceGraph:
    """The graph with one to `most` of the other facts, each after the question or a fact of the graph."""
    added = draw.sample(others, min(len(others), draw.randint(1, most)))
    return EvidenceGraph([*graph.edges, *((draw.choice([ROOT, *graph.nodes]), node) for node in added)])


def alike(text: str, facts: Sequence[str], others: Sequence[int]) -> list[int]:
    """Some of the facts by the words that they share with a text, those with the rarest words first."""
    words = [set(whole_words(fact).split()) for fact in facts]
    count = Counter(word for one in words for word in one)
    asked = set(whole_words(text).split())
    # sorted, since the order of a set changes the last digits of a sum
    shared = {fact: sum(sorted(1 / count[word] for word in words[fact] & asked)) for fact in others}
    return sorted(others, key=lambda fact: (-shared[fact], fact))


def another(fact: int, graph: EvidenceGraph, statements: Sequence[Sequence[Fact]], draw: random.Random) -> int | None:
    """One of the other candidates that states the same relation or attribute as a fact, of nothing that this is about:
    the running time of another film. ``None`` if there is none."""
    keys = {one.predicate for one in statements[fact]}
    ends = {end for one in statements[fact] for end in (one.head, one.tail)}
    found = [
        number
        for number, told in enumerate(statements)
        if number not in graph.nodes
        and any(one.predicate in keys for one in told)
        and not any(end in ends for one in told for end in (one.head, one.tail) if end is not None)
    ]
    return draw.choice(found) if found else None


def beside(fact: int, graph: EvidenceGraph, statements: Sequence[Sequence[Fact]], draw: random.Random) -> int | None:
    """One of the other candidates that states something else about the same thing, between other ends: the running time
    of a film in place of its director. ``None`` if there is none."""
    heads = {one.head for one in statements[fact]}
    keys = {one.predicate for one in statements[fact]}
    tails = {one.tail for one in statements[fact]} - {None}
    found = [
        number
        for number, told in enumerate(statements)
        if number not in graph.nodes
        and any(one.head in heads for one in told)
        and not any(one.predicate in keys or one.tail in tails for one in told)
    ]
    return draw.choice(found) if found else None
