"""Train a small T5 that words facts, on the templates' own sentences.

bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer
bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer --init path/to/t5

Settings come from the config; any of them can be given here too, e.g. --trainer.max_epochs=3. The folder written is a
checkpoint of transformers: `bgr data build --verbalizer FOLDER` takes it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bgr.configs import find_config, overrides


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", required=True, help="a YAML file, or a shipped config's name (verbalizer)")
    parser.add_argument("--kqapro", required=True, type=Path, metavar="DIR", help="folder with kb.json")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write")
    parser.add_argument("--init", metavar="FOLDER|ID", help="start from this encoder-decoder (default: from scratch)")
    parser.add_argument("--seed", type=int, help="of pairs and training, instead of the config's")
    parser.add_argument("--resume", action="store_true", help="go on from the last finished epoch of the folder")
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the dev metrics as JSON")


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.run import Run
    from training.verbalizer import train_verbalizer

    settings = overrides(args.rest)
    if args.seed is not None:
        settings += [f"--seed_everything={args.seed}", f"--data.seed={args.seed}"]
    if args.init is not None:
        settings.append(f"--model.init={args.init}")
    job = Run(find_config(args.config), args.kqapro, args.out, settings, args.resume)
    metrics = train_verbalizer(job, overwrite=args.overwrite)
    if args.json:
        print(json.dumps(metrics))
        return
    print("dev  " + "  ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in metrics.items()))
    print(f"checkpoint in {args.out}")
