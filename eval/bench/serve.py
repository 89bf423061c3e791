"""Benchmark of `bgr serve`: several clients at once, against the same questions in batches without a server.

The server is a process of its own, as a user starts it. Each client asks one question after the other, each of them the
next of all. The reference, `BgrPipeline.answer_all` as `bgr predict` calls it, runs in a process of its own too, before
and after the clients, so that other load on the machine is seen; the faster run counts.
"""

from __future__ import annotations

import http.client
import itertools
import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import torch

import bgr
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import BgrError, DataError
from bgr.pipeline import BgrPipeline
from bgr.predict import BATCH
from bgr.released import checkpoint_folder, collection_folder
from bgr.retrievers.base import Query
from bgr.utils.progress import progress_bar
from eval.bench.measure import BenchResult, table, timed
from eval.bench.options import ServeBenchOptions

LEAST_SHARE = 0.8
"""Target for the questions a second of the server, of those of the reference."""

MOST_GROWTH = 0.02
"""Target for the growth of memory in the second half of a long run."""

LONG_SECONDS = 300.0
"""Length of that half from which growth is judged: the first minutes fill caches."""

CLIENT_SECONDS = 120.0
"""Time that a client waits for an answer."""


@dataclass
class Load:
    """What the clients saw: counts of statuses (0 for a connection that failed), seconds of the answers, and when the
    first question was asked and the last answer came."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    first: float = 0.0
    last: float = 0.0


def bench_serve(options: ServeBenchOptions) -> BenchResult:
    """Run the benchmark.

    Raises:
        DataError: the dataset has no test questions.
        BgrError: the server ended, or the checkpoint or the collection cannot be opened.
    """
    examples = load_split(options.data, "test")[: options.questions]
    if not examples:
        raise DataError(f"{options.data}: no test questions")
    asked = [example.question for example in examples]
    if options.collection is None:
        collection_folder(progress=True)  # made before the clock runs
    before = _reference(asked, options)
    rows = []
    for clients in options.clients:
        with _server(options, max_queue=max(options.clients)) as url:
            rows.append(_measured(url, asked, clients, options.seconds, options.every))
    with _server(options, max_queue=max(1, max(options.clients) // 4)) as url:
        full = _measured(url, asked, max(options.clients), options.seconds / 4, options.every)
    reference = max(before, _reference(asked, options))
    for row in rows:
        row["share"] = row["per_second"] / reference
    about = {
        "questions": len(asked),
        "seconds": options.seconds,
        "threads": torch.get_num_threads(),
        "reference_per_second": reference,
    }
    return BenchResult(_text(rows, full, about), {"setting": about, "rows": rows, "full_queue": full})


def _reference(asked: Sequence[str], options: ServeBenchOptions) -> float:
    """Questions a second in batches, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds: float = pool.apply(_answer, (asked, options))
    return len(asked) / seconds


def _answer(asked: Sequence[str], options: ServeBenchOptions) -> float:
    from bgr.ask import open_collection

    pipeline = BgrPipeline.from_pretrained(options.checkpoint or checkpoint_folder(), device="cpu")
    collection = open_collection(options.collection or collection_folder(), pipeline)
    queries = [Query(question) for question in asked]
    pipeline.answer_all(queries[:2], collection=collection)

    def answer() -> None:
        for start in range(0, len(queries), BATCH):
            pipeline.answer_all(queries[start : start + BATCH], collection=collection)

    return timed(answer)[1]


@contextmanager
def _server(options: ServeBenchOptions, *, max_queue: int) -> Iterator[str]:
    """A server's URL while it runs."""
    words = ["serve", "--port", "0", "--device", "cpu", "--max-queue", str(max_queue), "--timeout", "3600"]
    words += [] if options.checkpoint is None else ["--checkpoint", str(options.checkpoint)]
    words += [] if options.collection is None else ["--collection", f"bench={options.collection}"]
    home = str(Path(bgr.__file__).resolve().parents[1])  # the same package, from wherever it is run
    environment = {name: value for name, value in os.environ.items() if name != "BGR_TOKEN"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (home, environment.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", "bgr", *words]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        url = None
        while url is None:
            line = process.stderr.readline()
            if not line:
                raise BgrError("the server has ended before it listened; try `bgr serve` alone")
            found = re.match(r"listening on (\S+),", line)
            url = found and found[1]
        drain = threading.Thread(target=process.stderr.read, daemon=True)  # a full pipe would stop the server
        drain.start()
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


class Sample(NamedTuple):
    """The server at a moment, in seconds from the first question: resident memory in bytes, and open files."""

    seconds: float
    memory: float
    files: float


def growth(samples: Sequence[Sample]) -> dict[str, float]:
    """The growth in the second half of the time, in which caches and the allocator's free memory are full: the median
    slope of all pairs of samples (Theil and Sen), which single steps do not move, times the length of that half.

    Returns:
        ``memory``, as a share of the median memory of that half; ``files``, in open files; ``seconds``, the length of
        the half. NaN with fewer than three samples.
    """
    half = [one for one in samples if one.seconds >= samples[-1].seconds / 2]
    if len(half) < 3:
        return {"memory": math.nan, "files": math.nan, "seconds": 0.0}
    seconds = half[-1].seconds - half[0].seconds

    def rise(values: Sequence[float]) -> float:
        pairs = itertools.combinations(zip(half, values, strict=True), 2)
        slopes = [(b - a) / (two.seconds - one.seconds) for (one, a), (two, b) in pairs if two.seconds > one.seconds]
        return float(np.median(slopes)) * seconds

    memory = [one.memory for one in half]
    return {
        "memory": rise(memory) / float(np.median(memory)),
        "files": rise([one.files for one in half]),
        "seconds": seconds,
    }


@contextmanager
def _watched(url: str, every: float, samples: list[Sample]) -> Iterator[None]:
    """Adds a sample after every so many seconds."""
    over, began = threading.Event(), time.perf_counter()

    def watch() -> None:
        while not over.wait(every):
            with suppress(OSError, http.client.HTTPException, ValueError):  # asked again at the next time
                samples.append(_sample(url, time.perf_counter() - began))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _measured(url: str, asked: Sequence[str], clients: int, seconds: float, every: float) -> dict[str, Any]:
    """A row: what so many clients saw, and the server's memory and open files in the meantime."""
    samples = [_sample(url, 0.0)]
    with _watched(url, every, samples):
        load = _load(url, asked, clients, seconds)
    samples.append(_sample(url, load.last - load.first))
    answered = load.statuses[200]
    times = np.array(load.seconds or [0.0])
    return {
        "clients": clients,
        "answered": answered,
        "refused": load.statuses[429],
        "failed": sum(load.statuses.values()) - answered - load.statuses[429],
        "per_second": answered / max(seconds, load.last - load.first),
        **{f"p{share}_ms": 1000 * float(np.percentile(times, share)) for share in (50, 95)},
        "max_ms": 1000 * float(times.max()),
        "memory_gb": samples[0].memory / 1e9,
        "memory_after_gb": samples[-1].memory / 1e9,
        "files": samples[0].files,
        "files_after": samples[-1].files,
        "growth": growth(samples),
        "samples": [one._asdict() for one in samples],
    }


def _load(url: str, asked: Sequence[str], clients: int, seconds: float) -> Load:
    """Ask for so many seconds; the last answers, which come later, are waited for."""
    load, lock, numbers = Load(), threading.Lock(), itertools.count()
    load.first = load.last = time.perf_counter()
    end = load.first + seconds

    def client() -> None:
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=CLIENT_SECONDS)
        while time.perf_counter() < end:
            with lock:
                number = next(numbers)
            body = json.dumps({"question": asked[number % len(asked)]})
            started, wait = time.perf_counter(), 0.0
            try:
                connection.request("POST", "/v1/answer", body, {"Content-Type": "application/json"})
                reply = connection.getresponse()
                reply.read()
                status, wait = reply.status, float(reply.headers.get("Retry-After", 0))
            except (OSError, http.client.HTTPException):
                status = 0
                connection.close()
            finished = time.perf_counter()
            with lock:
                load.statuses[status] += 1
                if status == 200:
                    load.seconds.append(finished - started)
                    load.last = finished
            if wait:
                connection.close()  # the server may do so in the meantime
                time.sleep(min(wait, max(0.0, end - finished)))

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    with progress_bar(int(seconds), f"{clients} clients", "second") as bar:
        while time.perf_counter() < end:
            time.sleep(min(1.0, max(0.0, end - time.perf_counter())))
            bar.update()
    for thread in threads:
        thread.join()
    return load


def _sample(url: str, seconds: float) -> Sample:
    """The server now, from its metrics."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=CLIENT_SECONDS)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    names = "process_resident_memory_bytes", "process_open_fds"
    found = [re.search(rf"^{name} (\S+)", text, re.MULTILINE) for name in names]
    memory, files = (float(one[1]) if one else math.nan for one in found)
    return Sample(seconds, memory, files)


def _verdict(found: dict[str, float]) -> str:
    if found["seconds"] < LONG_SECONDS:
        return f"growth of memory and open files is judged from a second half of {LONG_SECONDS:g} s on"
    flat = found["memory"] <= MOST_GROWTH and found["files"] < 1
    return (
        f"target: memory grows by at most {MOST_GROWTH:.0%} and open files not at all in the second half of the time: "
        f"{'met' if flat else 'missed'} ({found['memory']:+.1%}, {found['files']:+.1f} files in "
        f"{found['seconds'] / 60:.0f} min)"
    )


def _text(rows: Sequence[dict[str, Any]], full: dict[str, Any], about: dict[str, Any]) -> str:
    header = [
        "clients",
        "answered",
        "failed",
        "429",
        "a second",
        "share",
        "p50 ms",
        "p95 ms",
        "max ms",
        "GB",
        "after",
        "files",
        "after",
    ]
    cells = [
        [
            *(f"{row[key]:,}" for key in ("clients", "answered", "failed", "refused")),
            f"{row['per_second']:.2f}",
            f"{row['share']:.2f}" if "share" in row else "–",
            *(f"{row[key]:,.0f}" for key in ("p50_ms", "p95_ms", "max_ms")),
            f"{row['memory_gb']:.2f}",
            f"{row['memory_after_gb']:.2f}",
            f"{row['files']:.0f}",
            f"{row['files_after']:.0f}",
        ]
        for row in (*rows, full)
    ]
    longest = rows[-1]["growth"]
    for row in rows:
        longest = max(longest, row["growth"], key=lambda one: one["seconds"])
    least = min(row["share"] for row in rows)
    return "\n".join(
        [
            f"{about['questions']} questions, {about['seconds']:g} s, {about['threads']} threads; without a server, in "
            f"batches of {BATCH}: {about['reference_per_second']:.2f} questions a second",
            table([header, *cells], left=()),
            "The last row has a queue for a quarter of its clients: the others get status 429 and wait as it says.",
            f"target: at least {LEAST_SHARE} of the questions a second without a server: "
            f"{'met' if least >= LEAST_SHARE else 'missed'} ({least:.2f})",
            _verdict(longest),
        ]
    )
