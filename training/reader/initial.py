"""Initial weights of an extractive reader from another one."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bgr.errors import CheckpointError
from bgr.models.extractive_reader import ExtractiveReaderModel
from bgr.utils.checksums import check_file
from bgr.utils.json_utils import one_line


@torch.no_grad()
def start_from(model: ExtractiveReaderModel, folder: Path) -> dict[str, Tensor]:
    """Copy what a reader's folder has of the model's tensors; of a tensor with more or fewer rows, the rows of both.

    The encoder's frozen layers are the model's own.

    Returns:
        What was copied, by the names of the model's tensors. The others have another width or none in the folder.

    Raises:
        CheckpointError: the folder has no such weights, or no tensor of them fits.
    """
    path = folder / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            there = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be read: {one_line(error)}") from None
    check_file(path)
    frozen = {f"encoder.{name}" for name in model.encoder.frozen_names()}
    own = {name: weight for name, weight in model.named_parameters() if name not in frozen}
    copied = {}
    for name, weight in own.items():
        if name in there and there[name].shape[1:] == weight.shape[1:]:
            rows = torch.atleast_1d(weight)
            copied[name] = torch.atleast_1d(there[name])[: len(rows)].float()
            rows[: len(copied[name])] = copied[name]
    if not copied:
        raise CheckpointError(f"{path}: no weights of an extractive reader of this width")
    return copied
