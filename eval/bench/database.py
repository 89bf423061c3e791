"""Benchmark of questions over a collection of more and more sentences: time, memory, and the floor beside both.

Each size is built and asked in processes of its own, so that each has its own peak memory. The floor of a question is
what no search can do without: the encoder's pass over the question, and one BM25 search.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from bgr.models.batching import Sentences
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.options import POOL
from bgr.utils.atomic_io import new_file
from bgr.utils.devices import autocast
from eval.bench.measure import BenchResult, table, timed
from eval.bench.options import DatabaseBenchOptions
from eval.report.size_plots import draw_growth

MAX_MS, MAX_SINGLE_MS, MAX_GB = 250.0, 1000.0, 3.0
"""Targets at 500,000 sentences on two cores: milliseconds a question in batches and alone, and memory."""


def bench_database(options: DatabaseBenchOptions) -> BenchResult:
    """Run the benchmark.

    A size has the candidates of the questions and random other sentences of the collection. ``build_s`` is the time to
    build the collection (words alone), ``prepare_s`` that of its names and token ids. Times of questions are wall-clock
    milliseconds: in one batch, for the search alone, and the median of single ones; memory is the peak resident size of
    the process in GB, including mapped files.

    Raises:
        DataError: the collection or the split is empty, or the figure exists already.
        BgrError: the checkpoint or the collection cannot be opened.
    """
    if options.plot is not None and options.plot.exists() and not options.overwrite:
        raise DataError(f"{options.plot}: exists already; give --overwrite to replace it")
    if options.threads:
        torch.set_num_threads(options.threads)
    examples = load_split(options.data, "test")[: options.questions]
    texts = [passage.whole for passage in Collection.open(options.collection).corpus]
    if not examples or not texts:
        raise DataError(f"{options.data}: no test questions" if texts else f"{options.collection}: no texts")
    first = dict.fromkeys(fact for example in examples for fact in example.facts)
    known = set(texts)
    own = [text for text in first if text in known]
    others = [text for text in texts if text not in first]
    random.Random(options.seed).shuffle(others)
    asked = [example.question for example in examples]
    rows = []
    with tempfile.TemporaryDirectory(dir=options.work) as name:
        for size in sorted({min(size, len(texts)) for size in options.sizes}):
            folder = Path(name) / str(size)
            chosen = [*own, *others][:size]
            built = _in_process(_build, chosen, folder, options)
            rows.append({"sentences": size, **built, **_in_process(_ask, asked, folder, options)})
    if options.plot is not None:
        with new_file(options.plot) as half:
            draw_growth(rows, half)
    about = {"questions": len(asked), "threads": torch.get_num_threads(), "pool": POOL, "seed": options.seed}
    return BenchResult(_text(rows, about), {"setting": about, "rows": rows})


def _in_process(work: Any, *args: Any) -> dict[str, Any]:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(work, args)
    return found


def _build(texts: Sequence[str], folder: Path, options: DatabaseBenchOptions) -> dict[str, Any]:
    collection, build = timed(Collection.build, texts, folder, encoder=None)
    pipeline = BgrPipeline.from_pretrained(options.checkpoint, device="cpu")
    _, prepare = timed(pipeline.search_over, collection)
    return {"build_s": build, "prepare_s": prepare, "build_gb": _peak()}


def _ask(asked: Sequence[str], folder: Path, options: DatabaseBenchOptions) -> dict[str, Any]:
    if options.threads:
        torch.set_num_threads(options.threads)
    pipeline = BgrPipeline.from_pretrained(options.checkpoint, device="cpu")
    collection, opening = timed(Collection.open, folder)
    pipeline.answer(asked[0], collection)  # opens what is kept of the collection
    search = pipeline.search_over(collection)
    single = [timed(pipeline.answer, question, collection)[1] for question in asked]
    _, together = timed(pipeline.answer_all, [Query(question) for question in asked], collection=collection)
    _, searching = timed(search.search, asked, POOL)
    _, floor = timed(_floor, pipeline, collection, asked)
    share = 1000 / len(asked)
    return {
        "open_s": opening,
        "ms": share * together,
        "search_ms": share * searching,
        "single_ms": 1000 * median(single),
        "floor_ms": share * floor,
        "ask_gb": _peak(),
    }


@torch.inference_mode()
def _floor(pipeline: BgrPipeline, collection: Collection, asked: Sequence[str]) -> None:
    model = pipeline.forward
    for question in asked:
        words = Sentences([question], pipeline.tokenizer, max_tokens=model.config.question_tokens)
        with autocast(model.device):  # as in the pipeline
            model.encoder(words.take([0], states=False).to(model.device))
        collection.bm25.search([question], POOL)


def _text(rows: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    header = ["sentences", "build s", "prepare s", "ms", "search", "alone", "floor", "GB"]
    cells = [
        [
            f"{row['sentences']:,}",
            f"{row['build_s']:.1f}",
            f"{row['prepare_s']:.1f}",
            *(f"{row[key]:.0f}" for key in ("ms", "search_ms", "single_ms")),
            f"{row['floor_ms']:.1f}",
            f"{row['ask_gb']:.2f}",
        ]
        for row in rows
    ]
    last = rows[-1]
    met = ("missed", "met")
    return "\n".join(
        [
            ", ".join(f"{name} {value}" for name, value in about.items()),
            "milliseconds per question: in one batch, of these the search, alone (median), and the floor",
            table([header, *cells], left=()),
            f"targets at 500,000 sentences: {MAX_MS:g} ms {met[last['ms'] <= MAX_MS]}, alone {MAX_SINGLE_MS:g} ms "
            f"{met[last['single_ms'] <= MAX_SINGLE_MS]}, {MAX_GB:g} GB {met[last['ask_gb'] <= MAX_GB]}",
        ]
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
