"""To and from the JSON that the paper's authors released.

bgr data convert dataset released --to released
bgr data convert released dataset --to bgr
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="IN", help="a dataset, or a folder as released")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--to", required=True, choices=("released", "bgr"))
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")


def run(args: argparse.Namespace) -> None:
    (_from_released if args.to == "bgr" else _to_released)(args)


def _from_released(args: argparse.Namespace) -> None:
    from bgr.reasongraphqa.dataset import write_dataset
    from bgr.reasongraphqa.released import read_released
    from bgr.reasongraphqa.splits import SPLITS

    splits = {split: read_released(args.folder / f"{split}.json", split) for split in SPLITS}
    sentences = dict.fromkeys(fact for part in splits.values() for example in part for fact in example.facts)
    facts = [{"id": f"F{number:06d}", "sentence": sentence} for number, sentence in enumerate(sentences)]
    counts = {split: len(part) for split, part in splits.items()}
    sheet = {"name": "ReasonGraphQA", "source": "released by the authors", "counts": counts}
    write_dataset(args.out, splits, facts, sheet, overwrite=args.overwrite)
    print(f"{args.out}: {sum(counts.values()):,} questions")


def _to_released(args: argparse.Namespace) -> None:
    from bgr.files import output_folder
    from bgr.reasongraphqa.dataset import load_split
    from bgr.reasongraphqa.released import lost_edges, to_released
    from bgr.reasongraphqa.splits import SPLITS

    splits = {split: load_split(args.folder, split) for split in SPLITS}
    with output_folder(args.out, overwrite=args.overwrite) as work:
        for split, part in splits.items():
            text = json.dumps([to_released(example) for example in part], indent=1, ensure_ascii=False)
            (work / f"{split}.json").write_text(text + "\n", encoding="utf-8")
    everything = [example for part in splits.values() for example in part]
    lost = sum(map(lost_edges, everything))
    print(f"{args.out}: {len(everything):,} questions; {lost:,} edges from the question that this form cannot hold")
