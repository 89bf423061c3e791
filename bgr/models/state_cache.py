"""Cache of token states on disk, in fp16 and memory-mapped: computed once for sentences that stay the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor
from tqdm import tqdm

from bgr.models.batching import Sentences
from bgr.models.ragged import EncodedRows, Ragged
from bgr.models.retriever import BgrRetriever
from bgr.utils.atomic_io import new_file

CHUNK = 2048
"""Sentences computed between two writes."""
DTYPE = np.float16


def cached_states(
    rows: Ragged,
    compute: Callable[[Ragged], Ragged],
    weights: Iterable[Tensor],
    folder: Path,
    *,
    name: str,
    setting: str,
    width: int,
    title: str,
    progress: bool = True,
) -> Tensor:
    """Load states ``[total, width]`` (fp16) of the token ids `rows` from a file; if there is none, write them first.
    `compute` gives those of some of the rows, with the same lengths.

    The file is ``folder/name-…`` with a hash of token ids, `weights` and `setting` (everything else that the states
    depend on), so it is never used for other ones. If several processes call this at once, one computes and the others
    wait. A process that is killed releases the lock and leaves no file that could be mistaken for a complete one.
    """
    digest = hashlib.sha256(setting.encode())
    for tensor in (rows.flat, rows.lengths, *weights):
        digest.update(tensor.detach().cpu().numpy().tobytes())
    path = folder / f"{name}-{digest.hexdigest()[:16]}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            with (
                new_file(path, single=True) as part,
                tqdm(total=len(rows), desc=title, disable=not progress, unit="sentence") as bar,
            ):
                states = np.lib.format.open_memmap(part, mode="w+", dtype=DTYPE, shape=(len(rows.flat), width))
                at = 0
                for numbers in torch.arange(len(rows)).split(CHUNK):
                    found = compute(rows.select(numbers)).flat
                    states[at : at + len(found)] = found.float().cpu().numpy()
                    at += len(found)
                    bar.update(len(numbers))
                states.flush()
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def cache_encoded(facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False) -> None:
    """Replace the token ids of `facts` by the result of ``model.encode``, of a model in evaluation mode: fp16,
    memory-mapped, ``[total, width]``. See `cached_states`."""
    if not len(facts):
        return

    @torch.inference_mode()
    def compute(rows: Ragged) -> Ragged:
        return model.encode(rows.to(model.device))

    rows, direction = facts.rows, model.config.direction
    weights = [parameter.float() for part in (model.encoder, model.project) for parameter in part.parameters()]
    half = torch.is_autocast_enabled(model.device.type)
    states = cached_states(
        rows,
        compute,
        weights,
        folder,
        name=direction,
        setting=f"{model.config.frozen_layers} {half}",
        width=model.config.width,
        title=f"facts, {direction}",
        progress=progress,
    )
    facts.rows = EncodedRows(states, rows.lengths)
