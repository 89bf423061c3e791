"""Plain definition of GEAR's diverse triple beam search (Algorithm 1), without vectorization."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bgr.collection.triples.index import TripleIndex
from bgr.retrievers.gear.beam import BeamSettings

Triples = tuple[int, ...]


class PlainBeam:
    """The search over one index, which is first converted to lists and dictionaries; `beam_search` returns the same
    beams."""

    def __init__(self, index: TripleIndex, settings: BeamSettings) -> None:
        self.settings = settings
        self.vectors: list[list[float]] = [[float(value) for value in row] for row in index.vectors]
        self.ends = list(zip(index.head.tolist(), index.tail.tolist(), strict=True))
        self.with_entity: dict[int, list[int]] = {}
        for number, ends in enumerate(self.ends):
            for entity in set(ends):
                self.with_entity.setdefault(entity, []).append(number)

    def __call__(
        self, query: Sequence[float], start: Sequence[int], score: Callable[[Triples], float] | None = None
    ) -> list[tuple[float, Triples]]:
        """Scores and sequences, best first, for a unit vector ``[d]`` and the indices of the initial triples. The score
        of a sequence is by default the cosine of the query with the mean of the triples' vectors."""
        settings = self.settings
        score = score or (lambda sequence: cosine(query, self.mean(sequence)))
        gamma = settings.gamma or 2 * settings.width
        beams = self.top([(score((t,)), (t,)) for t in sorted(set(start))])
        for _ in range(settings.length - 1):
            longer: list[tuple[float, Triples]] = []
            for so_far, sequence in beams:
                extensions = []
                for t in self.neighbors(sequence[-1], query):
                    if any(t in other for _, other in beams):
                        continue
                    extensions.append((so_far + score((*sequence, t)), (*sequence, t)))
                extensions.sort(key=lambda beam: -beam[0])
                for n, (new, extended) in enumerate(extensions):
                    # NumPy's exponential may differ from Python's in the last digit
                    weight = float(np.exp(-min(n, gamma) / gamma)) if settings.diverse else 1.0
                    longer.append((new * weight, extended))
            if not longer:
                break
            beams = self.top(longer)
        return beams

    def top(self, beams: list[tuple[float, Triples]]) -> list[tuple[float, Triples]]:
        return sorted(beams, key=lambda beam: -beam[0])[: self.settings.width]

    def neighbors(self, triple: int, query: Sequence[float]) -> list[int]:
        """The triples nearest to the query among those that share an entity."""
        found: set[int] = set()
        for entity in self.ends[triple]:
            found.update(self.with_entity[entity][: self.settings.read])
        nearest = sorted(found - {triple})
        if len(nearest) > self.settings.neighbours:
            nearest = sorted(nearest, key=lambda other: -dot(query, self.vectors[other]))[: self.settings.neighbours]
        return sorted(nearest)

    def mean(self, sequence: Triples) -> list[float]:
        return [sum(column) / len(sequence) for column in zip(*(self.vectors[t] for t in sequence), strict=True)]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def cosine(query: Sequence[float], vector: Sequence[float]) -> float:
    """Cosine with a query of length 1."""
    length = math.sqrt(dot(vector, vector))
    return dot(query, vector) / length if length else 0.0
