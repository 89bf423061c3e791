"""Train a baseline of the comparison table: DPR, GRR, MDR or SSG; choose on dev how many facts one takes.

bgr train baseline --config dpr --data work/data --out work/dpr
bgr train baseline --config bm25 --data work/data --out work/bm25

Settings come from the config; any of them can be given here too, e.g. --trainer.max_epochs=3 --data.limit=8000, with
the sections of `bgr train retriever`. bm25 and random have nothing to learn: of them only k is chosen. The folder
written is what `bgr evaluate --baselines DIR` takes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bgr.cli.train_options import add_dataset, add_run, settings_of
from bgr.utils.configs import find_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser, configs="dpr, grr, mdr, ssg, bm25, random")
    add_dataset(parser)
    parser.add_argument("--states", type=Path, metavar="DIR", help="where the frozen layers' states are kept and found")


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.baseline.train import check, train_baseline
    from training.run import Run, check_folder, first_process, prepare_folder

    settings = settings_of(args)
    config = find_config(shipped(args.config))
    job = Run(config, args.data, args.out, settings, args.resume and not args.overwrite, args.states)
    check_folder(job, overwrite=args.overwrite)
    plan = check(job)
    prepare_folder(job, overwrite=args.overwrite)
    metrics = train_baseline(job, plan)
    if not first_process():
        return
    if args.json:
        print(json.dumps(metrics))
        return
    print(f"dev  {plan.kind:12} " + "  ".join(f"{name} {value:.3f}" for name, value in metrics.items()))
    print(f"baseline in {args.out}")


def shipped(name: str) -> str:
    """``dpr`` is short for the shipped ``baseline-dpr``; a file of that name comes first."""
    from bgr.retrievers.baselines.baseline_config import KINDS

    return f"baseline-{name}" if name in KINDS and not Path(name).is_file() else name
