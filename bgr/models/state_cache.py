"""Facts that stay the same from question to question: their states behind encoder and projection, kept on disk.

Token states that stay the same, computed once for many sentences and kept on disk: fp16, memory-mapped.
"""

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

from bgr.models.batching import Sentences
from bgr.models.ragged import Encoded, Ragged
from bgr.models.retriever import BgrRetriever

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


def keep_encoded(facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False) -> None:
    """Replace token ids by what `BgrRetriever.encode` makes of them: fp16, memory-mapped, ``[total, width]``.

    The file is found again, and never used for another model or other facts (`kept_states`).

    Args:
        facts: token ids, which are replaced.
        model: one direction, in evaluation mode.
        folder: where the file is, or will be.
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
    states = kept_states(
        folder / f"{direction}-{key}.npy",
        rows,
        compute,
        width=model.config.width,
        title=f"facts, {direction}",
        progress=progress,
    )
    facts.rows = Encoded(states, rows.lengths)
