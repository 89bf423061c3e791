"""Make one segment of all that is left of an index; nothing is encoded again. Damaged files are refused, not copied.

bgr index compact work/index
"""

from __future__ import annotations

import argparse

from bgr.cli.index_options import add_folder, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)


def run(args: argparse.Namespace) -> None:
    from bgr.collection.index_folder import IndexFolder

    index = IndexFolder(args.folder, progress=True)
    index.compact()
    print(summary(index))
