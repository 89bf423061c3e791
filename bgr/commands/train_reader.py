"""Train a reader, which answers a question from its evidence graph.

bgr train reader --config reader --data work/data --out work/reader
bgr train reader --config reader_t5 --data work/data --out work/reader --init path/to/t5

Settings come from the config; any of them can be given here too, e.g. --trainer.max_epochs=3 or
--data.retrieved=predictions.jsonl (graphs of `bgr evaluate --split train`, read beside the gold ones). The folder
written goes into `bgr export --reader FOLDER`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bgr.configs import find_config, overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a YAML file, or a shipped config's name (reader, reader_t5)")
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="dataset of `bgr data build`")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write")
    parser.add_argument("--init", metavar="FOLDER|ID", help="start from this encoder-decoder (default: the config's)")
    parser.add_argument("--seed", type=int, help="instead of the config's seed_everything")
    parser.add_argument("--resume", action="store_true", help="go on from the last finished epoch of the folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the dev metrics as JSON")


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.reader import train_reader
    from training.run import Run

    settings = overrides(args.rest)
    if args.seed is not None:
        settings.append(f"--seed_everything={args.seed}")
    if args.init is not None:
        settings.append(f"--model.init={args.init}")
    job = Run(find_config(args.config), args.data, args.out, settings, args.resume)
    metrics = train_reader(job, overwrite=args.overwrite)
    if args.json:
        print(json.dumps(metrics))
        return
    print("dev  " + "  ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in metrics.items()))
    print(f"checkpoint in {args.out}")
