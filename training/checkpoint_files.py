"""Training checkpoints (``*.ckpt``), read as untrusted files: PyTorch does not see flipped bits, and pickles may hold
code."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from bgr.errors import BgrError

_DAMAGED = (
    OSError,
    zipfile.BadZipFile,
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, with its tensors mapped from the file.

    Raises:
        BgrError: the file is missing or damaged, has code, or is none of Lightning's checkpoints.
    """
    try:
        with zipfile.ZipFile(path) as file:
            bad = file.testzip()  # compares the checksum of each part
        found = None if bad else torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except _DAMAGED:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("state_dict"), dict):
        raise BgrError(f"{path}: is missing, damaged, or no checkpoint of a training; --overwrite trains again")
    return found
