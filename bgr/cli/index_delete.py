"""Delete passages from an index by id, all or none; `bgr index compact` frees their space.

bgr index delete work/index p17 p18
"""

from __future__ import annotations

import argparse

from bgr.cli.index_options import add_folder, summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("ids", nargs="+", metavar="ID", help="of passages, as `bgr index search` shows them")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.index_folder import IndexFolder

    index = IndexFolder(args.folder)
    index.delete(args.ids)
    print(summary(index))
