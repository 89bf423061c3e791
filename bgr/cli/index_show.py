"""What an index is of, without reading its passages.

bgr index show work/index
"""

from __future__ import annotations

import argparse
import json

from bgr.cli.index_options import add_folder, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.index_folder import IndexFolder

    index = IndexFolder(args.folder)
    own = index.manifest
    about = {
        "passages": own.passages,
        "deleted": own.rows - own.passages,
        "corpus": own.corpus,
        "encoder": own.encoder,
        "dimensions": own.dimensions,
        "half": own.half,
        "segments": {piece.name: piece.passages for piece in own.segments},
        "bytes": sum(file.stat().st_size for file in args.folder.rglob("*") if file.is_file()),
    }
    if args.json:
        print(json.dumps(about, indent=2))
        return
    print(f"{summary(index)}; {about['bytes']:,} bytes")
    for name, passages in about["segments"].items():
        print(f"  {name}: {passages:,} passages")
