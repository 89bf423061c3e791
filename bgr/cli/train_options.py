"""What every `bgr train …` has in common on the command line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from bgr.utils.configs import overrides


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


def add_init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--init", metavar="FOLDER|ID", help="start from this encoder-decoder (default: the config's)")


def settings_of(args: argparse.Namespace) -> list[str]:
    """The settings given beside the config, seed and start among them."""
    settings = overrides(args.rest)
    if args.seed is not None:
        settings.append(f"--seed_everything={args.seed}")
    if getattr(args, "init", None) is not None:
        settings.append(f"--model.init={args.init}")
    return settings


def print_metrics(args: argparse.Namespace, metrics: Mapping[str, float]) -> None:
    """The dev metrics and where the checkpoint is, or the metrics alone as JSON."""
    if args.json:
        print(json.dumps(metrics))
        return
    print("dev  " + "  ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in metrics.items()))
    print(f"checkpoint in {args.out}")
