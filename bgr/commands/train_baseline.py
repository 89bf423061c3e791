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

from bgr.configs import find_config, overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", required=True, help="a YAML file, or a shipped one: dpr, grr, mdr, ssg, bm25, random"
    )
    parser.add_argument("--data", required=True, type=Path, help="dataset folder written by `bgr data build`")
    parser.add_argument("--out", required=True, type=Path, help="run folder")
    parser.add_argument("--seed", type=int, help="instead of the config's seed_everything")
    parser.add_argument("--states", type=Path, metavar="DIR", help="where the frozen layers' states are kept and found")
    parser.add_argument("--resume", action="store_true", help="go on from the run folder's last checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="replace the run folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the dev metrics as JSON")


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.baseline import check, train_baseline
    from training.run import Run, first_process, prepare_folder

    settings = overrides(args.rest)
    if args.seed is not None:
        settings.append(f"--seed_everything={args.seed}")
    config = find_config(shipped(args.config))
    job = Run(config, args.data, args.out, settings, args.resume and not args.overwrite, args.states)
    plan = check(job)
    prepare_folder(job, overwrite=args.overwrite, alone=False)
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
    from bgr.baselines.settings import KINDS

    return f"baseline-{name}" if name in KINDS and not Path(name).is_file() else name
