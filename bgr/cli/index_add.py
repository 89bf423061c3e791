"""Append passages to an index. Where it was interrupted, the same command goes on from the vectors it had.

bgr index add work/index --corpus more.jsonl
"""

from __future__ import annotations

import argparse

from bgr.cli.corpus_option import add_corpus, read_passages
from bgr.cli.index_options import add_encoder, add_folder, open_with_encoder, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_corpus(parser, help="the new passages")
    add_encoder(parser)


def run(args: argparse.Namespace) -> None:
    new = read_passages(args.corpus)
    index = open_with_encoder(args.folder, args.encoder)
    index.add(new.passages)
    print(f"{summary(index)}; {len(new):,} added")
