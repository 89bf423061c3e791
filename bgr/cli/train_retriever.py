"""Train BGR's retriever, both directions, and calibrate the pair on dev.

Settings come from the config; any of them can be given here too, e.g.
--trainer.max_epochs=3 --model.learning_rate=1e-4 --data.batch_size=8. The run folder is a checkpoint folder:
`bgr evaluate`, `bgr export` and `bgr ask` take it as it is.

Two more sections: --checkpoint.minutes=5 --checkpoint.steps=0 say how often a checkpoint is written inside an epoch,
--early_stop.patience=0 after how many epochs without a better dev score training ends (0: never).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bgr.cli.train_options import add_dataset, add_run, settings_of
from bgr.errors import BgrError
from bgr.models.config import DIRECTIONS
from bgr.utils.configs import find_config

if TYPE_CHECKING:
    from training.retriever.train import Plan
    from training.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser, configs="demo, cpu, paper")
    add_dataset(parser)
    parser.add_argument(
        "--direction", choices=["both", *DIRECTIONS], default="both", help="which directions to train (default: both)"
    )
    parser.add_argument(
        "--seeds",
        metavar="A,B,…",
        help="train with each seed, into OUT/seed-A and so on; sum up in seeds.json",
    )


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.retriever.seeds import check_kind, read_seeds
    from training.retriever.train import check, train_retriever
    from training.run import Run, check_folder, first_process, prepare_folder

    settings = settings_of(args)
    both = args.direction == "both"
    if args.seeds is not None:
        _check_seeds(args, settings)
    seeds = None if args.seeds is None else read_seeds(args.seeds)
    job = Run(find_config(args.config), args.data, args.out, settings, args.resume and not args.overwrite)
    check_folder(job, overwrite=args.overwrite, alone=not both)
    if not args.overwrite:
        check_kind(args.out, several=seeds is not None)
    plan = check(job)
    prepare_folder(job, overwrite=args.overwrite)
    if seeds is not None:
        _several(job, plan, seeds, as_json=args.json)
        return
    metrics = train_retriever(job, plan, DIRECTIONS if both else (args.direction,))
    if not first_process():
        return
    if args.json:
        print(json.dumps(metrics))
        return
    for name, row in metrics.items():
        print(f"dev  {name:12} " + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    print(f"checkpoint in {args.out}")


def _check_seeds(args: argparse.Namespace, settings: list[str]) -> None:
    if args.direction != "both":
        raise BgrError(f"--seeds trains both directions; --direction {args.direction} goes with --seed")
    if any(word.startswith("--seed_everything") for word in settings):
        raise BgrError("give either --seeds or a single seed")


def _several(job: Run, plan: Plan, seeds: Sequence[int], *, as_json: bool) -> None:
    from training.retriever.seeds import SUMMARY, folder_name, table, train_seeds
    from training.run import first_process

    summary = train_seeds(job, plan, seeds)
    if not first_process():
        return
    if as_json:
        print((job.out / SUMMARY).read_text(encoding="utf-8"), end="")
        return
    print(table(summary))
    runs = ", ".join(folder_name(seed) for seed in seeds)
    print(f"mean ± sample standard deviation, n = {len(seeds)}; checkpoints in {job.out}: {runs}; {SUMMARY}")
