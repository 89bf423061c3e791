"""Train a reader, which answers a question from its evidence graph.

bgr train reader --config reader --data work/data --out work/reader
bgr train reader --config reader_t5 --data work/data --out work/reader --init path/to/t5

Settings come from the config; any of them can be given here too, e.g. --trainer.max_epochs=3 or
--data.retrieved=predictions.jsonl (graphs of `bgr evaluate --split train`, read beside the gold ones). The folder
written goes into `bgr export --reader FOLDER`.
"""

from __future__ import annotations

import argparse

from bgr.cli.train_options import add_dataset, add_init, add_run, print_metrics, settings_of
from bgr.utils.configs import find_config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run(parser, configs="reader, reader_t5")
    add_dataset(parser)
    add_init(parser)


def run(args: argparse.Namespace) -> None:
    """Check everything that can be checked before the first step, then train."""
    from training.run import Run
    from training.seq2seq.reader import train_reader

    job = Run(find_config(args.config), args.data, args.out, settings_of(args), args.resume)
    print_metrics(args, train_reader(job, overwrite=args.overwrite))
