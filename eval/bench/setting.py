"""Data, encoder and device of the benchmarks of `eval.bench.models`."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig
from transformers.utils import logging

from bgr.data.example import Example
from bgr.data.options import BuildOptions
from bgr.data.reasongraphqa.construction.dataset import build_dataset
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.models.packaged import resolve_model
from bgr.utils.devices import pick_device
from eval.bench.kopl import write_small_atlas
from eval.bench.options import PACKAGED, RANDOM, SpeedOptions


@dataclass(frozen=True)
class Machine:
    """Device, data type of autocast if any, and the setting in the result."""

    device: torch.device
    dtype: torch.dtype | None
    about: dict[str, Any]


def set_up_machine(options: SpeedOptions) -> Machine:
    """Choose the device and set the number of threads."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    device = pick_device(options.device)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # as `training.lightning_cli` does
    about = {
        "model": Path(options.model).name,
        "device": device.type if device.type == "cpu" else torch.cuda.get_device_name(device),
        "threads": torch.get_num_threads(),
        "precision": options.precision,
        "batch size": options.batch_size,
        "questions": options.questions,
        "seed": options.seed,
    }
    return Machine(device, torch.bfloat16 if options.precision == "bf16" else None, about)


def sampled_questions(options: SpeedOptions, split: str, folder: Path) -> list[Example]:
    """A random sample of a split; without data, of a small Atlas built in `folder`."""
    data = options.data
    if data is None:
        source, data = folder / "atlas", folder / "data"
        source.mkdir()
        write_small_atlas(source, 10 * options.questions + 100, options.seed)
        (source / "val.json").write_text("[]", encoding="utf-8")
        build_dataset(BuildOptions(kqapro=source, out=data, seed=options.seed))
    found = load_split(data, split, progress=True)
    return random.Random(options.seed).sample(found, min(options.questions, len(found)))


def set_up_encoder(options: SpeedOptions, folder: Path) -> tuple[str, bool]:
    """The encoder's folder, and whether it has weights."""
    if options.model not in RANDOM:
        return resolve_model(options.model), True
    return str(write_random_encoder(options.model, folder / "encoder")), False


def write_random_encoder(name: str, home: Path) -> Path:
    """A folder with the configuration and the tokenizer of an encoder of `RANDOM`, without weights."""
    sizes: dict[str, Any] = dict(RANDOM[name])
    BertConfig(**sizes).save_pretrained(home)
    # a tokenizer of the same family: 30,522 lower-case words
    AutoTokenizer.from_pretrained(resolve_model(PACKAGED)).save_pretrained(home)
    return home
