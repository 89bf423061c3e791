"""Where and in what precision a checkpoint runs, on the command line."""

from __future__ import annotations

import argparse

PRECISIONS = ("32", "bf16")


def add_machine(parser: argparse.ArgumentParser) -> None:
    """``--device`` and ``--precision``, as `bgr.pipeline.BgrPipeline` takes them."""
    parser.add_argument("--device", metavar="NAME", help="cpu, cuda, …; default: the GPU if there is one")
    parser.add_argument("--precision", choices=PRECISIONS, help="default: bf16 where the device is fast at it, else 32")
