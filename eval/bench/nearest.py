"""Benchmark of approximate search: its recall against the exact search, on sentences and questions of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np

from bgr.collection.approximate import CENTROIDS, Approximate, Form
from bgr.collection.collection import Collection
from bgr.collection.embedding import load_encoder
from bgr.collection.search import Hits
from bgr.collection.vectors import VectorRows, encode_queries
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from eval.bench.measure import BenchResult, timed
from eval.bench.options import NearestBenchOptions


def bench_nearest(options: NearestBenchOptions) -> BenchResult:
    """Run the benchmark: the texts of a collection are encoded in half precision, then indexed in both forms.

    ``recall`` is the mean share of the exact search's `k` best texts that are found, ``ms`` the median wall-clock time
    of one question without encoding, ``bytes`` the size of a vector in the index.

    Raises:
        DataError: the split is empty, or the collection has too few texts.
    """
    texts = [passage.whole for passage in Collection.open(options.collection, encoder=None).corpus]
    order = np.random.default_rng(options.seed).permutation(len(texts))[: options.texts]
    questions = [example.question for example in load_split(options.data, "test")[: options.questions]]
    if not texts or not questions:
        raise DataError(f"{options.data}: no test questions" if texts else f"{options.collection}: no texts")
    if len(order) < CENTROIDS:
        raise DataError(f"{options.collection}: {len(order)} texts; the index needs {CENTROIDS} or more")
    encoder = load_encoder(options.encoder_spec)
    vectors = encoder([texts[number] for number in order.tolist()]).astype(np.float16)
    queries = encode_queries(encoder, questions)
    exact, wanted = _search(VectorRows([vectors]), queries, options.k)
    lists = Form.for_size(*vectors.shape).lists
    forms = {"bytes": Form(lists, 0), "parts": Form(lists, Form.for_size(10**9, vectors.shape[1]).parts)}
    rows = {"exact": {"recall": 1.0, "ms": exact, "bytes": 2 * vectors.shape[1], "build_seconds": 0.0}}
    for name, form in forms.items():
        near, seconds = timed(Approximate.build, vectors, form)
        ms, found = _search(VectorRows([vectors], near=near), queries, options.k)
        recall = float(np.mean([_share(*pair) for pair in zip(found, wanted, strict=True)]))
        rows[name] = {"recall": recall, "ms": ms, "bytes": near.codes.shape[1], "build_seconds": seconds}
    result = {"texts": len(vectors), "questions": len(questions), "k": options.k, "lists": lists, "rows": rows}
    return BenchResult(_text(result), result)


def _search(rows: VectorRows, queries: np.ndarray, k: int) -> tuple[float, list[Hits]]:
    """The median milliseconds of a query, and the hits of all; the first query also runs once untimed."""
    rows.nearest(queries[:1], k)
    timings = [timed(rows.nearest, query[None], k) for query in queries]
    return 1e3 * median(seconds for _, seconds in timings), [hits for (hits,), _ in timings]


def _share(found: Hits, wanted: Hits) -> float:
    return len({*found.indices.tolist()} & {*wanted.indices.tolist()}) / len(wanted.indices)


def _text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['texts']:,} texts, {result['questions']:,} questions, {result['lists']:,} lists"]
    for name, row in result["rows"].items():
        lines.append(
            f"{name}: recall@{result['k']} {100 * row['recall']:.1f} %, {row['ms']:.1f} ms a question, "
            f"{row['bytes']} bytes a vector, built in {row['build_seconds']:.1f} s"
        )
    return "\n".join(lines)
