"""Search an index: by words and vectors (hybrid, by reciprocal rank fusion), or by one of them.

bgr index search work/index "Who directed Persona?" "When was it released?"
bgr index search work/index "Who directed Persona?" --method dense --milvus work/milvus.db
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.counts import positive
from bgr.cli.index_options import add_encoder, add_folder, add_milvus, open_collection, open_with_encoder
from bgr.errors import BgrError

if TYPE_CHECKING:
    from bgr.collection.corpus import Corpus
    from bgr.collection.index_folder import IndexFolder
    from bgr.collection.search import Hits, Search

METHODS = ("bm25", "dense", "hybrid")
WIDTH = 100
"""Characters of a passage that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("questions", nargs="+", metavar="QUESTION")
    parser.add_argument("--method", choices=METHODS, help="default: hybrid, or bm25 where the index has words alone")
    parser.add_argument("-k", type=positive, default=10, metavar="N", help="passages for each; default: 10")
    add_encoder(parser)
    add_milvus(parser)
    parser.add_argument("--json", action="store_true", help="print passages as JSON")


def run(args: argparse.Namespace) -> None:
    index = _open(args.folder, args.method, args.encoder)
    method = args.method or ("hybrid" if index.manifest.encoder else "bm25")
    if args.milvus is not None and method == "bm25":
        raise BgrError("--milvus holds vectors, bm25 searches words: name dense or hybrid to --method")
    with _search(args, index, method) as search:
        found = search.search(args.questions, args.k)
    rows = [
        {"question": question, "method": method, "passages": _passages(hits, index.corpus)}
        for question, hits in zip(args.questions, found, strict=True)
    ]
    print(json.dumps(rows, indent=2, ensure_ascii=False) if args.json else "\n".join(map(_text, rows)))


def _open(folder: Path, method: str | None, encoder: Path | None) -> IndexFolder:
    """An index; for a search by words alone no encoder is loaded."""
    from bgr.collection.index_folder import IndexFolder

    return IndexFolder(folder) if method == "bm25" else open_with_encoder(folder, encoder)


@contextmanager
def _search(args: argparse.Namespace, index: IndexFolder, method: str) -> Iterator[Search]:
    if args.milvus is None:
        yield getattr(index, method)()
        return
    from bgr.collection.milvus import MilvusSearch
    from bgr.collection.search import HybridSearch

    dense = index.dense()  # which says what is missing
    collection = open_collection(args)
    try:
        there = MilvusSearch(collection, index.corpus, dense.encoder, key=str(index.manifest.encoder))
        yield there if method == "dense" else HybridSearch([index.bm25(), there])
    finally:
        collection.close()


def _passages(hits: Hits, corpus: Corpus) -> list[dict[str, Any]]:
    pairs = zip(hits.indices.tolist(), hits.scores.tolist(), strict=True)
    return [{"score": score, **vars(corpus[place])} for place, score in pairs]


def _text(row: dict[str, Any]) -> str:
    lines = [f"{row['question']} ({row['method']})"]
    for rank, one in enumerate(row["passages"], 1):
        said = textwrap.shorten(" — ".join(filter(None, (one["title"], one["text"]))), WIDTH, placeholder=" …")
        lines.append(f"{rank:>4}  {one['score']:.4f}  {one['id']}  {said}")
    return "\n".join(lines)
