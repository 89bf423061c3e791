"""Build an index of a corpus. Where it was interrupted, the same command goes on from the vectors it had; an older
index under the name counts until the new one is whole.

bgr index build --corpus corpus.json --out work/index
bgr index build --corpus corpus.json --out work/words --words-only
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.cli.corpus_option import add_corpus, read_passages
from bgr.cli.index_options import add_encoder, load_encoder, summary
from bgr.errors import BgrError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_corpus(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the index")
    add_encoder(parser)
    parser.add_argument("--words-only", action="store_true", help="no vectors: BM25 alone")
    parser.add_argument("--half", action="store_true", help="vectors of half precision, at half the size")
    parser.add_argument("--overwrite", action="store_true", help="replace the index that is there")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.changes import check_free
    from bgr.collection.index_folder import build_index

    if args.words_only and (args.encoder is not None or args.half):
        raise BgrError("--words-only makes no vectors: leave out --encoder and --half")
    check_free(args.out, args.overwrite)
    corpus = read_passages(args.corpus)
    model = None if args.words_only else load_encoder(args.encoder)
    key = None if model is None else model.identity()
    options = {"half": args.half, "overwrite": args.overwrite, "progress": True}
    print(summary(build_index(args.out, corpus, encoder=model, key=key, **options)))
