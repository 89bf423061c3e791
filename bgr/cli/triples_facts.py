"""Write the triples that ReasonGraphQA's facts were made from, out of the knowledge base, no language model needed. A
dataset of `bgr data build` holds them; the authors' release does not.

bgr triples facts dataset --out openie.json
bgr compare --data dataset --openie openie.json --systems dense dense+naive --out work/facts

`bgr compare` searches the facts of the test split; the file has those of all splits.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.errors import DataError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="triples to write")
    parser.add_argument("--corpus-out", type=Path, metavar="FILE", help="write the facts as a corpus, too")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.corpus import save_corpus
    from bgr.collection.triples.openie import write_openie
    from bgr.data.reasongraphqa.io.fact_records import read_facts
    from bgr.data.reasongraphqa.io.fact_triples import fact_corpus

    for path in (args.out, args.corpus_out):
        if path is not None and path.exists() and not (args.overwrite and path.is_file()):
            raise DataError(f"{path}: exists already; " + ("give --overwrite" if path.is_file() else "name a file"))
    corpus, triples = fact_corpus(read_facts(args.folder, progress=True))
    if args.corpus_out is not None:
        save_corpus(corpus, args.corpus_out)
    write_openie(args.out, corpus, triples)
    print(f"{args.out}: {len(triples):,} triples of {len(corpus):,} facts")
