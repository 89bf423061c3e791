"""Train a small T5 that words facts, on the templates' own sentences.

bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer
bgr train verbalizer --config verbalizer --kqapro work/atlas --out work/verbalizer --init path/to/t5

Settings come from the config; any of them can be given here too, e.g. --trainer.max_epochs=3. The folder written is a
checkpoint of transformers: `bgr data build --verbalizer FOLDER` takes it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.cli.train_options import add_init, add_run, print_metrics, settings_of
from bgr.utils.configs import find_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser, configs="verbalizer")
    parser.add_argument("--kqapro", required=True, type=Path, metavar="DIR", help="folder with kb.json")
    add_init(parser)


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.run import Run
    from training.seq2seq.verbalizer import train_verbalizer

    settings = settings_of(args)
    if args.seed is not None:
        settings.append(f"--data.seed={args.seed}")
    job = Run(find_config(args.config), args.kqapro, args.out, settings, args.resume)
    print_metrics(args, train_verbalizer(job, overwrite=args.overwrite))
