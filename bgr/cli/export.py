"""Write one self-contained checkpoint folder from a training run: weights, configs, tokenizer, settings, model card."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", required=True, type=Path, help="run folder of `bgr train retriever`")
    parser.add_argument("--out", required=True, type=Path, help="new checkpoint folder")
    parser.add_argument("--reader", type=Path, metavar="DIR", help="folder of `bgr train reader`, to answer questions")
    parser.add_argument("--half", action="store_true", help="store the weights in fp16")
    parser.add_argument("--metrics", type=Path, help="metrics.json of `bgr evaluate`, for the model card")
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")


def run(args: argparse.Namespace) -> None:
    """Export and say where."""
    from bgr.retrievers.graph_hop.export import export

    export(args.run, args.out, reader=args.reader, half=args.half, metrics=args.metrics, overwrite=args.overwrite)
    size = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file()) / 2**20
    print(f"checkpoint in {args.out}, {size:.0f} MiB")
