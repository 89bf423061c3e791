"""Train BGR's retriever, both directions, and calibrate the pair on dev.

Settings come from the config; any of them can be given here too, e.g.
--trainer.max_epochs=3 --model.learning_rate=1e-4 --data.batch_size=8. The run folder is a checkpoint folder:
`bgr evaluate`, `bgr export` and `bgr ask` take it as it is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bgr.configs import find_config, overrides
from bgr.models.config import DIRECTIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a YAML file, or a shipped config's name (demo, cpu, paper)")
    parser.add_argument("--data", required=True, type=Path, help="dataset folder written by `bgr data build`")
    parser.add_argument("--out", required=True, type=Path, help="run folder")
    parser.add_argument(
        "--direction", choices=["both", *DIRECTIONS], default="both", help="which directions to train (default: both)"
    )
    parser.add_argument("--seed", type=int, help="instead of the config's seed_everything")
    parser.add_argument("--resume", action="store_true", help="go on from the last finished epoch of the run folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the run folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the dev metrics as JSON")


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.train import Run, check, prepare_folder, train_retriever

    settings = overrides(args.rest)
    if args.seed is not None:
        settings.append(f"--seed_everything={args.seed}")
    job = Run(find_config(args.config), args.data, args.out, settings, args.resume)
    directions = DIRECTIONS if args.direction == "both" else (args.direction,)
    check(job)
    prepare_folder(job, overwrite=args.overwrite, alone=args.direction != "both")
    metrics = train_retriever(job, directions)
    if args.json:
        print(json.dumps(metrics))
        return
    for name, row in metrics.items():
        print(f"dev  {name:10} " + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    print(f"checkpoint in {args.out}")
