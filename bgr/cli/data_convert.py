"""To and from the JSON that the paper's authors released, and from a file of MuSiQue.

bgr data convert dataset released --to released
bgr data convert released dataset --to bgr
bgr data convert musique_ans_v1.0_train.jsonl dataset --to bgr

A folder is read as released, a file as MuSiQue's: its question decompositions become evidence graphs over paragraphs,
and each question's split is told by the SHA-256 of its id.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bgr.errors import BgrError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, metavar="IN", help="a dataset, a folder as released, or a MuSiQue file")
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write")
    parser.add_argument("--to", required=True, choices=("released", "bgr"))
    parser.add_argument(
        "--shares",
        type=int,
        nargs=3,
        metavar=("TRAIN", "DEV", "TEST"),
        help="of MuSiQue's questions (default: 70 10 20)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")


def run(args: argparse.Namespace) -> None:
    """Read all, then write all.

    Raises:
        BgrError: `--shares` without a MuSiQue file, or with one and no shares at all; what is read is damaged.
    """
    musique = args.to == "bgr" and not args.source.is_dir()
    if args.shares is not None and not musique:
        raise BgrError("--shares is for a MuSiQue file; other forms bring their splits along")
    if musique:
        _from_musique(args)
    else:
        (_from_released if args.to == "bgr" else _to_released)(args)


def _from_released(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.build.splits import SPLITS
    from bgr.data.reasongraphqa.io.released import read_released

    splits = {split: read_released(args.source / f"{split}.json", split) for split in SPLITS}
    _write(args, splits, {"name": "ReasonGraphQA", "source": "released by the authors"})


def _from_musique(args: argparse.Namespace) -> None:
    from bgr.data.multihop.musique import read_decompositions
    from bgr.data.multihop.records import read_records
    from bgr.data.reasongraphqa.build.splits import SPLITS
    from bgr.utils.hash_split import SHARES, hash_place

    shares = args.shares or SHARES
    found = read_decompositions(read_records(args.source))
    splits: dict[str, list[Any]] = {split: [] for split in SPLITS}
    try:
        for example in found.examples:
            splits[SPLITS[hash_place(example.id, shares)]].append(example)
    except ValueError as error:
        raise BgrError(f"--shares: {error}") from None
    if not found.examples:
        reasons = ", ".join(f"{len(ids):,} {why}" for why, ids in found.dropped.items()) or "there is none"
        raise BgrError(f"{args.source}: no question gives an evidence graph: {reasons}")
    sheet = {
        "name": "MuSiQue",
        "source": "MuSiQue",
        "licence": "CC BY 4.0",
        "file": args.source.name,
        "graphs": "of the question decompositions, over paragraphs",
        "split": {"by": "SHA-256 of the id", "shares": dict(zip(SPLITS, shares, strict=True))},
        "tried": len(found.examples) + sum(map(len, found.dropped.values())),
        "dropped": {why: {"count": len(ids), "examples": list(ids[:3])} for why, ids in found.dropped.items()},
    }
    _write(args, splits, sheet)
    for why, ids in found.dropped.items():
        print(f"left out: {len(ids):,} ({why}), {ids[0]} for one")


def _write(args: argparse.Namespace, splits: dict[str, list[Any]], sheet: dict[str, Any]) -> None:
    from bgr.data.reasongraphqa.io.dataset import write_dataset

    sentences = dict.fromkeys(fact for part in splits.values() for example in part for fact in example.facts)
    facts = [{"id": f"F{number:06d}", "sentence": sentence} for number, sentence in enumerate(sentences)]
    counts = {split: len(part) for split, part in splits.items()}
    write_dataset(args.out, splits, facts, {**sheet, "counts": counts}, overwrite=args.overwrite)
    parts = ", ".join(f"{split} {count:,}" for split, count in counts.items())
    print(f"{args.out}: {sum(counts.values()):,} questions ({parts})")


def _to_released(args: argparse.Namespace) -> None:
    from bgr.data.reasongraphqa.build.splits import SPLITS
    from bgr.data.reasongraphqa.io.dataset import load_split
    from bgr.data.reasongraphqa.io.released import lost_edges, to_released
    from bgr.utils.atomic_io import output_folder

    splits = {split: load_split(args.source, split) for split in SPLITS}
    with output_folder(args.out, overwrite=args.overwrite) as work:
        for split, part in splits.items():
            text = json.dumps([to_released(example) for example in part], indent=1, ensure_ascii=False)
            (work / f"{split}.json").write_text(text + "\n", encoding="utf-8")
    everything = [example for part in splits.values() for example in part]
    lost = sum(map(lost_edges, everything))
    print(f"{args.out}: {len(everything):,} questions; {lost:,} edges from the question that this form cannot hold")
