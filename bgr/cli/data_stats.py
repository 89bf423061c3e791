"""The paper's Tables 1 to 3 and Figure 3 for a dataset.

bgr data stats dataset --plot figure3.png
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="a dataset")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw Figure 3")


def run(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.build.splits import SPLITS
    from bgr.data.reasongraphqa.io.dataset import read_split
    from bgr.data.reasongraphqa.io.statistics import PAPER, dataset_statistics, draw_statistics, statistics_text

    statistics = dataset_statistics({split: read_split(args.folder, split, progress=True) for split in SPLITS})
    print(json.dumps({**statistics, "paper": PAPER}, indent=2) if args.json else statistics_text(statistics))
    if args.plot:
        draw_statistics(statistics, args.plot)
        print(f"{args.plot}: drawn", file=sys.stderr)
