"""Benchmark of the calls of a language model on a server: a loopback server with latencies, and scripted replies."""

from __future__ import annotations

import heapq
import json
import random
import re
import tempfile
import time
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.extraction import extract_triples
from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.collection.vectors import DenseSearch
from bgr.llm.backends.openai_backend import OpenAIBackend
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay
from bgr.llm.usage import Usage
from bgr.retrievers.base import Query, Retriever
from bgr.retrievers.bridgerag.agent import BridgeRag
from bgr.retrievers.gear.agent import Gear
from bgr.retrievers.prism.agent import Prism
from bgr.retrievers.scope import Scope
from eval.bench.measure import BenchResult, table
from eval.bench.options import CallsBenchOptions
from eval.bench.scripted_server import in_process

WIDTH = 64
HELD = 0.95
"""Share of the allowed calls that counts as all of them."""

METHODS: dict[str, Callable[[Llm, Scope], Retriever]] = {"gear": Gear, "prism": Prism, "bridgerag": BridgeRag}


def bench_calls(options: CallsBenchOptions) -> BenchResult:
    """Run each method over questions, and the extraction over passages, against a server that waits before each reply.

    The critical path is the longer of two times that no client can beat: that of all calls if they could be sent in any
    order (`least_time`), and that of the calls of the longest question. `in_order` is the time of the same calls, begun
    in the same order, each as soon as another one ends: no client that does not know how long calls take can count on
    less. The encoder is a hash of words, so that it
    takes no time. Replies are kept in a replay file, as the commands do.

    Calls in flight are counted by the server. Their mean and minimum are those of the steady state, which lasts from
    the first moment with as many calls as are allowed to the first call of the last item, since then fewer are left.
    """
    corpus = random_corpus(options.passages, options.seed)
    triples = [Triple(one.title, "is near", corpus[n - 1].title, n) for n, one in enumerate(corpus)]
    scope = Scope(
        corpus, DenseSearch.of_texts([one.whole for one in corpus], hashed), TripleIndex.build(triples, hashed)
    )
    low, high = options.latency
    rows = []
    for method in options.methods:
        with (
            in_process((low, high)) as address,
            tempfile.TemporaryDirectory() as folder,
            Replay(Path(folder) / "replies.db") as replay,
        ):
            backend = OpenAIBackend("m", base_url=address, concurrency=options.concurrency)
            llm = Llm(backend, replay=replay)
            began = time.monotonic()
            items, usage = _run(method, llm, scope, options)
            seconds = time.monotonic() - began
            with urllib.request.urlopen(f"{address}/stats") as response:
                rows.append(_row(method, items, usage, seconds, json.load(response), options.concurrency))
    header = [
        "method",
        "items",
        "calls",
        "failed",
        "seconds",
        "critical path",
        "ratio",
        "in order",
        "in flight",
        "mean",
        "minimum",
        "held",
    ]
    cells = [
        [
            row["method"],
            f"{row['items']:,}",
            f"{row['calls']:,}",
            str(row["failed"]),
            f"{row['seconds']:.1f}",
            f"{row['critical_path']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['in_order']:.1f}",
            str(row["most_in_flight"]),
            f"{row['steady_mean']:.1f}",
            str(row["steady_minimum"]),
            f"{row['held']:.0%}",
        ]
        for row in rows
    ]
    wait = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
    text = f"latency {wait}, {options.concurrency} calls at a time, seed {options.seed}\n{table([header, *cells])}"
    setting = {"latency": [low, high], "concurrency": options.concurrency, "seed": options.seed}
    return BenchResult(text, {**setting, "methods": rows})


def _run(method: str, llm: Llm, scope: Scope, options: CallsBenchOptions) -> tuple[int, Usage]:
    """The number of items that were worked on, and their usage."""
    if method == "extract":
        passages = Corpus(scope.corpus[n] for n in range(min(len(scope.corpus), options.extracted)))
        with tempfile.TemporaryDirectory() as folder:
            found = extract_triples(passages, llm, Path(folder) / "extractions.db", model="m")
        return len(passages), found.usage
    rng = random.Random(options.seed)
    titles = [passage.title for passage in scope.corpus]
    queries = [Query(f"Q{n}: who is near {rng.choice(titles)}?") for n in range(options.questions)]
    results = METHODS[method](llm, scope).retrieve(queries)
    return len(results), sum((result.usage for result in results), Usage())


def _row(
    method: str, items: int, usage: Usage, seconds: float, stats: dict[str, Any], concurrency: int
) -> dict[str, Any]:
    spans = [(begin, end) for begin, end, _ in stats["spans"]]
    questions: dict[str, list[tuple[float, float]]] = {}
    for begin, end, prompt in stats["spans"]:
        # the last: gathered facts may name others
        questions.setdefault((re.findall(r"\bQ\d+", prompt) or [prompt])[-1], []).append((begin, end))
    longest = max(map(covered, questions.values()))
    steady = steady_state(spans, concurrency, max(min(calls)[0] for calls in questions.values()))
    path = max(longest, least_time([end - begin for begin, end in spans], concurrency))
    return {
        "method": method,
        "items": items,
        "calls": stats["calls"],
        "failed": usage.failed,
        "seconds": seconds,
        "critical_path": path,
        "ratio": seconds / path,
        "in_order": time_in_order([end - begin for begin, end in sorted(spans)], concurrency),
        "most_in_flight": stats["most"],
        "steady_mean": steady[0],
        "steady_minimum": steady[1],
        "held": held(spans, concurrency * HELD),
    }


def least_time(seconds: Sequence[float], at_once: int) -> float:
    """A lower bound of the time that calls take if `at_once` of them run at a time: their mean load, and, as of the
    ``k · at_once + 1`` longest calls some ``k + 1`` run one after the other, the time of the ``k + 1`` shortest of
    these."""
    longest_first = sorted(seconds, reverse=True)
    rows = [sum(longest_first[last - last // at_once : last + 1]) for last in range(0, len(longest_first), at_once)]
    return max(sum(seconds) / at_once, *rows)


def time_in_order(seconds: Sequence[float], at_once: int) -> float:
    """The time that calls take, begun in this order, each as soon as one of the `at_once` before it ends."""
    ends = [0.0] * at_once
    for one in seconds:
        heapq.heapreplace(ends, ends[0] + one)
    return max(ends)


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds in which at least one of the spans is open."""
    total, until = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def held(spans: Sequence[tuple[float, float]], least: float) -> float:
    """Share of the time, until the last span begins, in which at least so many spans are open."""
    last = max(begin for begin, _ in spans)
    stretches = [one for one in levels(spans) if one[1] <= last]
    return sum((end - begin) * (level >= least) for begin, end, level in stretches) / max(last - stretches[0][0], 1e-9)


def steady_state(spans: Sequence[tuple[float, float]], full: int, last: float) -> tuple[float, int]:
    """Mean over time and minimum of the open spans, from the moment when `full` are open to the moment `last`; (0, 0)
    if there is no such moment."""
    stretches = levels(spans)
    first = next((begin for begin, _, level in stretches if level >= full), last)
    stretches = [one for one in stretches if first <= one[0] and one[1] <= last]
    seconds = sum(end - begin for begin, end, _ in stretches)
    if not seconds:
        return 0.0, 0
    mean = sum((end - begin) * level for begin, end, level in stretches) / seconds
    return mean, min(level for begin, end, level in stretches if end > begin)


def levels(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float, int]]:
    """Begin and end of each stretch of time between two changes, with the number of spans that are open in it."""
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    found, level = [], 0
    for (moment, change), (later, _) in pairwise(changes):
        level += change
        found.append((moment, later, level))
    return found


def hashed(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors ``float32 [texts, WIDTH]``; texts that share words are near each other."""
    vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        vector[0] = 1e-3
        for word in re.findall(r"\w+", text.lower()):
            code = zlib.crc32(word.encode())
            vector[code % WIDTH] += 1 if code & 1024 else -1
        vector /= np.linalg.norm(vector)
    return vectors


def random_corpus(count: int, seed: int) -> Corpus:
    """Short passages of random words, each with a number of its own in title and text."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("bdfgklmnprst", k=1)) + "".join(rng.choices("aeioulnrs", k=4)) for _ in range(2000)]
    passages = []
    for n in range(count):
        text = " ".join(rng.choices(words, k=40))
        passages.append(Passage(str(n), f"{rng.choice(words).title()} {n}", f"Q{n} {text}."))
    return Corpus(passages)
