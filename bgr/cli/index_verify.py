"""Read all files of an index and compare them with the hashes that were taken when they were written. Opening an index
looks at sizes and shapes alone. Exit code 1 where something is damaged; one line says what.

bgr index verify work/index
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from bgr.cli.corpus_option import add_corpus, read_passages
from bgr.cli.index_options import add_folder, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_corpus(parser, required=False, help="what the index must be of")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.index_folder import IndexFolder

    corpus = read_passages(args.corpus) if args.corpus is not None else None
    index = IndexFolder(args.folder, corpus=corpus, progress=True)
    found = index.verify()
    if args.json:
        print(json.dumps(asdict(found), indent=2))
        return
    print(f"{summary(index)}\n{found.files:,} files of {found.bytes:,} bytes hold what was written")
    if found.unhashed:
        print(f"not compared: {len(found.unhashed):,} files without a hash; `bgr index compact` writes them anew")
