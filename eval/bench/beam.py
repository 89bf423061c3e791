"""Benchmark of GEAR's beam search on as many triples as its authors use, also against the plain definition.

The triples are random with random vectors; the frequencies of their entities are as uneven as in texts.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.retrievers.gear.beam import PAPER_BEAM, beam_search
from eval.bench.measure import BenchResult, timed
from eval.bench.options import BeamBenchOptions
from eval.bench.reference.plain_beam import PlainBeam

WIDTH = 384
PASSAGE = 9
"""Triples per passage: as many as GPT-3.5 extracts from a passage of MuSiQue."""

PREDICATES = ("is", "was born in", "is located in", "directed", "published in", "member of", "is part of", "plays for")


def random_triples(count: int, *, seed: int = 0) -> Iterator[Triple]:
    """Random triples. A third of the ends are entities that occur once; the frequency of the others falls with rank to
    the power of 0.65. The most frequent entity of 1,500,000 triples then has 13,640 of them, and a triple has 168
    neighbors on average."""
    rng = np.random.default_rng(seed)
    for start in range(0, count, 1 << 16):
        size = min(1 << 16, count - start)
        draws = (rng.random((size, 2)) ** (1 / 0.35) * count).astype(np.int64)
        alone = rng.random((size, 2)) < 1 / 3
        draws[alone] = count + 2 * start + np.flatnonzero(alone.ravel())
        predicates = rng.integers(0, len(PREDICATES), size)
        rows = zip(draws.tolist(), predicates.tolist(), strict=True)
        for number, ((a, b), p) in enumerate(rows, start):
            yield Triple(f"Entity of number {a}", PREDICATES[p], f"Entity of number {b}", number // PASSAGE)


class RandomVectors:
    """A substitute for an encoder: random unit vectors in float16, ``[n, 384]``, for any texts."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.rng.standard_normal((len(texts), WIDTH), dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


MAX_MS = 50.0
"""Target: maximum milliseconds per encoded query on two cores."""

MIN_RATIO = 50.0
"""Target: minimum ratio of the plain definition's time to ours."""

LINKED = 10
"""Number of nearest triples that a fact of GEAR's memory is linked by."""

ROUNDS = 3
"""Number of repetitions of a query against the plain definition, of which the fastest counts."""

SEARCHES = 20
"""Number of searches for nearest triples."""

BASE = 15
"""Number of passages whose triples a query starts from, as in NaiveGE."""


def bench_beam(options: BeamBenchOptions) -> BenchResult:
    """Run the benchmark.

    Each query starts from all triples of `BASE` random passages; all run once untimed. The plain definition holds the
    vectors in lists. Times are wall-clock seconds, and those of single queries milliseconds; memory is the peak
    resident size of the process in GB, including mapped files. `commonest` is the number of triples of the most
    frequent entity; building includes the random vectors, and `query_gb` is after all queries. `search_ms` is the
    median time to find the nearest triples of one vector, after the queries. `ratio` is the ratio of the plain
    definition's processor time to ours, and `differing` the number of queries whose beams differ.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "index"
        # separate processes, so that each has its own peak memory
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            built = pool.apply(_build, (options.triples, folder, options.seed))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.apply(_query, (folder, options.queries, options.seed))
    plain = _against_plain(options.plain_triples, options.plain_queries, options.seed)
    result = {"triples": options.triples, **built, **found, **plain}
    return BenchResult(_text(result), result)


def _text(result: Mapping[str, Any]) -> str:
    r, met = result, ["missed", "met"]
    ms = ", ".join(f"{name} {value:.1f}" for name, value in r["ms"].items())
    return (
        f"{r['triples']:,} triples, {r['entities']:,} entities, at most {r['commonest']:,} triples of one\n"
        f"build: {r['build_seconds']:.1f} s, {r['build_gb']:.2f} GB\n"
        f"open: {r['open_seconds']:.2f} s; with all queries {r['query_gb']:.2f} GB\n"
        f"{r['queries']:,} queries, milliseconds: {ms} "
        f"(target: mean ≤ {MAX_MS:g}, {met[r['ms']['mean'] <= MAX_MS]})\n"
        f"nearest {LINKED} triples of a text ({'approximate' if r['approximate'] else 'exact'}): median "
        f"{r['search_ms']:.0f} ms; {r['search_gb']:.2f} GB\n"
        f"plain definition on {r['plain_triples']:,} triples, {r['plain_queries']} queries: {r['ratio']:.0f} "
        f"times as long (target: ≥ {MIN_RATIO:g}, {met[r['ratio'] >= MIN_RATIO]}), {r['differing']} differ"
    )


def _build(count: int, folder: Path, seed: int) -> dict[str, Any]:
    index, seconds = timed(TripleIndex.build, random_triples(count, seed=seed), RandomVectors(seed))
    index.save(folder, corpus_hash="random", encoder_key="random")
    degrees = np.diff(index.starts)
    size = {"entities": len(degrees), "commonest": int(degrees.max())}
    return {**size, "build_seconds": seconds, "build_gb": _peak()}


def _query(folder: Path, queries: int, seed: int) -> dict[str, Any]:
    index, seconds = timed(TripleIndex.open, folder, RandomVectors(seed), corpus_hash="random", encoder_key="random")
    vectors, starts = _queries(index, queries, seed)
    for turn in ("warm", "counts"):
        ms = []
        for i in tqdm(range(queries), desc=f"queries, {turn}", unit="query"):
            ms.append(1e3 * timed(beam_search, index, vectors[i : i + 1], [starts[i]])[1])
    before = _peak()
    searches = [1e3 * timed(index.search, ["query"], LINKED)[1] for _ in range(min(queries, SEARCHES))]
    return {
        "search_ms": float(np.median(searches)),
        "approximate": index.near is not None,
        "search_gb": _peak(),
        "open_seconds": seconds,
        "query_gb": before,
        "queries": queries,
        "ms": {
            "mean": float(np.mean(ms)),
            "median": float(np.median(ms)),
            "95 %": float(np.quantile(ms, 0.95)),
            "largest": max(ms),
        },
    }


def _against_plain(count: int, queries: int, seed: int) -> dict[str, Any]:
    index = TripleIndex.build(random_triples(count, seed=seed), RandomVectors(seed))
    plain = PlainBeam(index, PAPER_BEAM)
    vectors, starts = _queries(index, queries, seed)
    beam_search(index, vectors[:1], starts[:1])
    ours = theirs = 0.0
    differing = 0
    for vector, start in tqdm(zip(vectors, starts, strict=True), desc="plain", total=queries, unit="query"):
        rounds = [_processor_timed(beam_search, index, vector[None], [start]) for _ in range(ROUNDS)]
        (found,), seconds = min(rounds, key=lambda pair: pair[1])
        wanted, plain_seconds = _processor_timed(plain, vector.tolist(), start)
        ours, theirs = ours + seconds, theirs + plain_seconds
        differing += [list(row) for _, row in wanted] != found.triples.tolist()
    return {"plain_triples": count, "plain_queries": queries, "ratio": theirs / ours, "differing": differing}


def _processor_timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """The result, and the seconds of the processor: a query takes less than a millisecond, and one interruption by
    another process takes thirty."""
    before = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - before


def _queries(index: TripleIndex, queries: int, seed: int) -> tuple[np.ndarray, list[list[int]]]:
    """Query vectors ``[q, d]`` and the initial triples of each query."""
    rng = np.random.default_rng([seed, 2])
    passages = -(-len(index) // PASSAGE)
    starts = [rng.choice(passages, min(BASE, passages), replace=False) for _ in range(queries)]
    vectors = RandomVectors(seed + 3)([""] * queries).astype(np.float32)
    return vectors, [[int(n) for i in passages for n in index.of_passage(int(i))] for passages in starts]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
