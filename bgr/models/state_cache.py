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


def cached_states(
    path: Path,
    rows: Ragged,
    compute: Callable[[Ragged], Ragged],
    *,
    width: int,
    title: str,
    progress: bool = True,
) -> Tensor:
    """Load the states from a file; if there is none, compute and write them first. A token takes ``2 · width`` bytes.

    If several processes call this at once, one computes and the others wait. A process that is killed releases the lock
    and leaves no file that could be mistaken for a complete one.

    Args:
        path: a name that covers everything the states depend on (`states_key`).
        rows: token ids of all sentences.
        compute: computes the states of some of the rows, with equal lengths.
        width: width of a state.
        title: title of the progress bar.
        progress: show a progress bar on standard error.

    Returns:
        ``[total, width]`` fp16.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            with (
                new_file(path, single=True) as part,
                tqdm(total=len(rows), desc=title, disable=not progress, unit="sentence") as bar,
            ):
                states = np.lib.format.open_memmap(part, mode="w+", dtype=np.float16, shape=(len(rows.flat), width))
                at = 0
                for numbers in torch.arange(len(rows)).split(CHUNK):
                    found = compute(rows.select(numbers)).flat
                    states[at : at + len(found)] = found.to("cpu", torch.float16).numpy()
                    at += len(found)
                    bar.update(len(numbers))
                states.flush()
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def states_key(setting: str, rows: Ragged, parameters: Iterable[Tensor]) -> str:
    """Hash of token ids, weights and a setting: the name of the states that these give."""
    digest = hashlib.sha256(setting.encode())
    for tensor in (rows.flat, rows.lengths, *parameters):
        digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def cache_encoded(facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False) -> None:
    """Replace token ids by the result of `BgrRetriever.encode`: fp16, memory-mapped, ``[total, width]``.

    The file is reused later, but never for another model or other facts (`cached_states`).

    Args:
        facts: sentences whose token ids are replaced.
        model: one direction, in evaluation mode.
        folder: folder of the file.
        progress: show a progress bar on standard error.
    """
    if not len(facts):
        return

    @torch.inference_mode()
    def compute(rows: Ragged) -> Ragged:
        return model.encode(rows.to(model.device))

    rows, direction = facts.rows, model.config.direction
    weights = [parameter.float() for part in (model.encoder, model.project) for parameter in part.parameters()]
    half = torch.is_autocast_enabled(model.device.type)
    key = states_key(f"{model.config.frozen_layers} {half}", rows, weights)
    states = cached_states(
        folder / f"{direction}-{key}.npy",
        rows,
        compute,
        width=model.config.width,
        title=f"facts, {direction}",
        progress=progress,
    )
    facts.rows = EncodedRows(states, rows.lengths)
