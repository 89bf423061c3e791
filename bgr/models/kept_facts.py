"""Facts that stay the same from question to question: their states, computed once and kept on disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from tqdm import tqdm

from bgr.models.batching import Sentences
from bgr.models.ragged import Encoded, Ragged
from bgr.models.retriever import BgrRetriever

CHUNK = 2048
"""Sentences that are encoded between two writes."""


def keep_encoded(facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False) -> None:
    """Replace token ids by what `BgrRetriever.encode` makes of them: fp16, memory-mapped, ``[total, width]``.

    The file is named after the model's weights and the token ids, so it is found again and never used for another
    model or other facts. An interrupted run leaves nothing that is taken for whole. Needs ``2 · width`` bytes a token.

    Args:
        facts: token ids, which are replaced.
        model: one direction, in evaluation mode.
        folder: where the file is, or will be.
        progress: show a progress bar on standard error.
    """
    if not len(facts):
        return
    path = folder / f"{model.config.direction}-{_key(facts.rows, model)}.npy"
    folder.mkdir(parents=True, exist_ok=True)
    # several processes may start at once: one computes, the others wait; a killed one lets go
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            _write(path, facts.rows, model, progress=progress)
    facts.rows = Encoded(torch.from_numpy(np.load(path, mmap_mode="c")), facts.rows.lengths)


@torch.inference_mode()
def _write(path: Path, rows: Ragged, model: BgrRetriever, *, progress: bool) -> None:
    part = path.with_suffix(".part")
    shape = (len(rows.flat), model.config.width)
    states = np.lib.format.open_memmap(part, mode="w+", dtype=np.float16, shape=shape)
    # sorted by length, so that a chunk's buckets are full; every sentence goes to its own place
    order, starts, at = torch.argsort(rows.lengths, stable=True), rows.starts, 0
    with tqdm(total=len(rows), desc=f"facts, {model.config.direction}", disable=not progress, unit="fact") as bar:
        for first in range(0, len(rows), CHUNK):
            numbers = order[first : first + CHUNK]
            encoded = model.encode(rows.select(numbers).to(model.device)).to("cpu")
            for start, length in zip(starts[numbers].tolist(), encoded.lengths.tolist(), strict=True):
                states[start : start + length] = encoded.flat[at : at + length].to(torch.float16).numpy()
                at += length
            at = 0
            bar.update(len(numbers))
    states.flush()
    os.replace(part, path)


def _key(rows: Ragged, model: BgrRetriever) -> str:
    digest = hashlib.sha256(str(model.config.frozen_layers).encode())
    for tensor in (rows.flat, rows.lengths):
        digest.update(tensor.numpy().tobytes())
    for part in (model.encoder, model.project):
        for parameter in part.parameters():
            digest.update(parameter.detach().float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
