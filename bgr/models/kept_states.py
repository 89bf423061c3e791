"""Token states that stay the same, computed once for many sentences and kept on disk: fp16, memory-mapped."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor
from tqdm import tqdm

from bgr.models.ragged import Ragged

CHUNK = 2048
"""Sentences that are computed between two writes."""


def kept_states(
    path: Path,
    rows: Ragged,
    compute: Callable[[Ragged], Ragged],
    *,
    width: int,
    title: str,
    progress: bool = True,
) -> Tensor:
    """The file's states; computed and written first where there is no file. Needs ``2 · width`` bytes a token.

    Of several processes that come here at once one computes and the others wait; a killed one lets go, and leaves
    nothing that is taken for whole.

    Args:
        path: named after everything that the states depend on (`states_key`).
        rows: token ids of all sentences.
        compute: the states of some of them, rows as long as before.
        width: of a state.
        title: of the progress bar.
        progress: show it on standard error.

    Returns:
        ``[total, width]`` fp16.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            part = path.with_suffix(".part")
            states = np.lib.format.open_memmap(part, mode="w+", dtype=np.float16, shape=(len(rows.flat), width))
            at = 0
            with tqdm(total=len(rows), desc=title, disable=not progress, unit="sentence") as bar:
                for numbers in torch.arange(len(rows)).split(CHUNK):
                    found = compute(rows.select(numbers)).flat
                    states[at : at + len(found)] = found.to("cpu", torch.float16).numpy()
                    at += len(found)
                    bar.update(len(numbers))
            states.flush()
            os.replace(part, path)
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def states_key(setting: str, rows: Ragged, parameters: Iterable[Tensor]) -> str:
    """A name for what token ids and weights give under a setting."""
    digest = hashlib.sha256(setting.encode())
    for tensor in (rows.flat, rows.lengths, *parameters):
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
