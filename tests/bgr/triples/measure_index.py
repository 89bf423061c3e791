"""Time and memory of a large triple index, with random vectors and entities of skewed degree.

Run as ``python tests/bgr/triples/measure_index.py 1500000 [folder]``. Each step is a process of its own, so that the
peak is its own; seconds are of the processor, and of the clock in brackets. What the random vectors take of the build
is measured apart.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bgr.triples.index import TripleIndex
from bgr.triples.triple import Triple

WIDTH = 384
KEYS = {"corpus_hash": "synthetic", "encoder_key": "random"}
PREDICATES = ("is", "was born in", "is located in", "directed", "published in", "member of", "is part of", "plays for")


def triples(count: int) -> Iterator[Triple]:
    """A third of the ends are entities met once; of the others an entity's share falls by rank to the power 0.65."""
    rng = np.random.default_rng(0)
    for start in range(0, count, 1 << 16):
        size = min(1 << 16, count - start)
        draws = (rng.random((size, 2)) ** (1 / 0.35) * count).astype(np.int64)
        alone = rng.random((size, 2)) < 1 / 3
        draws[alone] = count + 2 * start + np.flatnonzero(alone.ravel())
        predicates = rng.integers(0, len(PREDICATES), size)
        rows = zip(draws.tolist(), predicates.tolist(), strict=True)
        for number, ((a, b), p) in enumerate(rows, start):
            yield Triple(f"Entity of number {a}", PREDICATES[p], f"Entity of number {b}", number // 9)


class RandomEncoder:
    """Unit vectors in float16, and the seconds that they took."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)
        self.seconds = 0.0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        start = time.process_time()
        rows = self.rng.standard_normal((len(texts), WIDTH), dtype=np.float32)
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
        self.seconds += time.process_time() - start
        return rows


def timed(step: Callable[[], Any]) -> tuple[Any, str]:
    cpu, clock = time.process_time(), time.perf_counter()
    result = step()
    return result, f"{time.process_time() - cpu:.2f} s ({time.perf_counter() - clock:.2f} s)"


def peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def build(count: int, folder: Path) -> dict[str, Any]:
    _, making = timed(lambda: sum(1 for _ in triples(count)))
    encoder = RandomEncoder()
    index, building = timed(lambda: TripleIndex.build(triples(count), encoder))
    built = peak()
    _, saving = timed(lambda: index.save(folder, **KEYS))
    degrees = np.diff(index.starts)
    return {
        "triples": len(index), "entities": len(degrees), "members": len(index.members),
        "degree: mean, 99 %, largest": [float(degrees.mean()), int(np.quantile(degrees, 0.99)), int(degrees.max())],
        "build, with making": building, "making the triples alone": making,
        "of it random vectors": f"{encoder.seconds:.2f} s",
        "save": saving, "peak after build, after save": [built, peak()],
        "files, GB": sum(file.stat().st_size for file in folder.iterdir()) / 1e9,
    }  # fmt: skip


def use(count: int, folder: Path) -> dict[str, Any]:
    before = peak()
    index, opening = timed(lambda: TripleIndex.open(folder, RandomEncoder(), **KEYS))
    opened = peak()
    numbers = np.random.default_rng(2).integers(0, count, 10_000).tolist()
    found, walking = timed(lambda: [len(index.neighbours(number)) for number in numbers])
    _, reading = timed(lambda: [index.triples[number].text for number in numbers])
    _, passages = timed(lambda: index.of_passage(5))
    _, more_passages = timed(lambda: [index.of_passage(number // 9) for number in numbers])
    walked = peak()
    queries = RandomEncoder()([""] * 16)
    _, one = timed(lambda: index.search_vectors(queries[:1], 100))
    _, many = timed(lambda: index.search_vectors(queries, 100))
    return {
        "open": opening, "peak before, after open, after walking": [before, opened, walked],
        "10,000 × neighbours": walking, "neighbours: mean, largest": [float(np.mean(found)), max(found)],
        "10,000 × triple text": reading, "of_passage, first": passages, "10,000 × of_passage": more_passages,
        "search, 1 query, k 100": one, "search, 16 queries, k 100": many, "peak": peak(),
    }  # fmt: skip


def main(count: int, folder: Path) -> None:
    for step in (build, use):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(step.__name__, json.dumps(pool.apply(step, (count, folder)), indent=1), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(int(sys.argv[1]), Path(made) / "index")
