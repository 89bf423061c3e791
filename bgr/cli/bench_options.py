"""What `bgr bench train` and `bgr bench infer` have in common: model, questions, machine."""

from __future__ import annotations

import argparse
import json
import random
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.counts import positive
from bgr.cli.machine_options import PRECISIONS

if TYPE_CHECKING:
    import torch

    from bgr.data.example import Example

PACKAGED = "packaged-minilm"
RANDOM = "random-bert-base"


def add_options(parser: argparse.ArgumentParser, *, batch_size: int, model: str) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="dataset folder (default: a small one of Atlas)")
    parser.add_argument("--model", default=PACKAGED, metavar=f"DIR|{PACKAGED}|{RANDOM}", help=model)
    parser.add_argument(
        "--config",
        action="append",
        metavar="NAME",
        help="form of the model, a training config's; may be given again (default: paper, demo)",
    )
    parser.add_argument("--questions", type=positive, default=32, metavar="N", help="default: 32")
    parser.add_argument("--batch-size", type=positive, default=batch_size, metavar="N", help=f"default: {batch_size}")
    parser.add_argument("--rounds", type=positive, default=3, metavar="N", help="the quickest counts; default: 3")
    parser.add_argument("--no-plain", action="store_true", help="leave out the plain definition, which takes long")
    parser.add_argument("--threads", type=positive, metavar="N", help="of the processor (default: torch's)")
    parser.add_argument("--device", metavar="NAME", help="default: the GPU if there is one")
    parser.add_argument("--precision", choices=PRECISIONS, default="32", help="default: 32")
    parser.add_argument("--seed", type=int, default=0, help="of questions and weights (default: 0)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def machine(args: argparse.Namespace) -> tuple[torch.device, torch.dtype | None, dict[str, Any]]:
    """Device, type of numbers for autocast if any, and what the result says of it all."""
    import torch
    from transformers.utils import logging

    from bgr.utils.devices import pick_device

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if args.threads:
        torch.set_num_threads(args.threads)
    device = pick_device(args.device)
    setting = {
        "model": Path(args.model).name,
        "device": device.type if device.type == "cpu" else torch.cuda.get_device_name(device),
        "threads": torch.get_num_threads(),
        "precision": args.precision,
        "batch size": args.batch_size,
        "questions": args.questions,
        "seed": args.seed,
    }
    return device, torch.bfloat16 if args.precision == "bf16" else None, setting


def questions(args: argparse.Namespace, split: str, folder: Path) -> list[Example]:
    """`args.questions` of a split, drawn by the seed; without ``--data`` of a small Atlas built under `folder`."""
    from bgr.data.reasongraphqa.io.dataset import load_split

    if args.data is None:
        _build_atlas(folder, 10 * args.questions + 100, args.seed)
    found = load_split(args.data or folder / "data", split, progress=True)
    return random.Random(args.seed).sample(found, min(args.questions, len(found)))


def encoder(args: argparse.Namespace, folder: Path) -> tuple[str, bool]:
    """The encoder's folder and whether it has weights."""
    from transformers import AutoTokenizer, BertConfig

    from bgr.models.packaged import resolve_model

    if args.model != RANDOM:
        return resolve_model(args.model), True
    home = folder / "encoder"
    BertConfig().save_pretrained(home)
    # of the same family: words in lower case, 30,522 of them
    AutoTokenizer.from_pretrained(resolve_model(PACKAGED)).save_pretrained(home)
    return str(home), False


def _build_atlas(folder: Path, count: int, seed: int) -> None:
    from bgr.cli import data_build
    from bgr.cli.bench_kopl import write_atlas

    source = folder / "atlas"
    source.mkdir()
    write_atlas(source, count, seed)
    parser = argparse.ArgumentParser()
    data_build.add_arguments(parser)
    (source / "val.json").write_text(json.dumps([]), encoding="utf-8")
    words = ["--kqapro", str(source), "--out", str(folder / "data"), "--seed", str(seed)]
    with redirect_stdout(sys.stderr):  # its summary is not the bench's result
        data_build.run(parser.parse_args(words))
