"""Put an index' vectors into Milvus, so that `bgr index search --milvus` searches there; nothing is encoded again. The
collection knows its corpus: after the index was changed it is refused until it is uploaded again.

bgr index upload work/index --milvus work/milvus.db
bgr index upload work/index --milvus http://localhost:19530 --collection films --overwrite
"""

from __future__ import annotations

import argparse
from contextlib import closing

from bgr.cli.index_options import add_encoder, add_folder, add_milvus, open_collection, open_with_encoder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_milvus(parser, required=True)
    add_encoder(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace the collection that is there")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.milvus import MilvusSearch

    index = open_with_encoder(args.folder, args.encoder)
    dense, key = index.dense(), str(index.manifest.encoder)
    options = {"vectors": dense.vectors, "overwrite": args.overwrite, "progress": True}
    with closing(open_collection(args)) as collection:
        search = MilvusSearch.build(collection, index.corpus, dense.encoder, key=key, **options)
        print(f"{collection.where}: {search.count():,} vectors")
