"""Count what a file of triples (OpenIE, in HippoRAG's form) holds for a corpus: triples, malformed rows, passages that
the file or the corpus lacks, passages without triples. Exit code 1 where the file is none, or none of its passages is
in the corpus; malformed rows alone are counted.

bgr triples check openie.json --corpus corpus.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.corpus_option import add_corpus, read_passages

if TYPE_CHECKING:
    from bgr.collection.corpus import Corpus
    from bgr.collection.triples.openie import Imported


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="triples")
    add_corpus(parser)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.triples.openie import read_openie

    corpus = read_passages(args.corpus)
    found = read_openie(args.file, corpus)
    counts = _counts(found, corpus)
    if args.json:
        print(json.dumps({**counts, "quoted": found.quoted}, indent=2, ensure_ascii=False))
        return
    print(f"{args.file}: {found.report}")
    print(
        f"passages without triples: {counts['passages without triples']:,} of {len(corpus):,}; entities: "
        f"{counts['entities']:,}, of them in more than one passage: {counts['shared entities']:,}"
    )
    for line in found.quoted:
        print(f"  left out: {line}")


def _counts(found: Imported, corpus: Corpus) -> dict[str, Any]:
    from bgr.collection.triples.triple import entity_key

    places: dict[str, set[int]] = {}
    for triple in found.triples:
        for end in (triple.subject, triple.object):
            places.setdefault(entity_key(end), set()).add(triple.passage)
    return {
        "passages": len(corpus),
        "triples": len(found.triples),
        "rows": found.rows,
        "malformed": dict(found.malformed),
        "passages that the corpus lacks": found.unmatched,
        "passages that the file lacks": len(found.bare),
        "passages without triples": len(corpus) - len({triple.passage for triple in found.triples}),
        "entities": len(places),
        "shared entities": sum(len(where) > 1 for where in places.values()),
    }
