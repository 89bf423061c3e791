"""What every `bgr train …` has in common on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from bgr.configs import overrides


def add_run(parser: argparse.ArgumentParser, *, configs: str) -> None:
    """The config, the run folder, and how a run begins.

    Args:
        configs: names of those that are shipped.
    """
    parser.add_argument("--config", required=True, help=f"a YAML file, or a shipped config's name ({configs})")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="run folder")
    parser.add_argument("--seed", type=int, help="instead of the config's seed_everything")
    parser.add_argument("--resume", action="store_true", help="go on from the run folder's last checkpoint")
    parser.add_argument("--overwrite", action="store_true", help="replace the run folder if it exists")
    parser.add_argument("--json", action="store_true", help="print the dev metrics as JSON")


def add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, metavar="DIR", help="dataset folder of `bgr data build`")


def settings_of(args: argparse.Namespace) -> list[str]:
    """The settings given beside the config, the seed among them."""
    seed = [] if args.seed is None else [f"--seed_everything={args.seed}"]
    return overrides(args.rest) + seed
