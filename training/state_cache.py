"""States of the frozen encoder layers, computed once for every sentence of a dataset and kept on disk."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from tqdm import tqdm

from bgr.devices import fast_bfloat16
from bgr.models.batching import Sentences
from bgr.models.encoder import SentenceStates
from bgr.models.ragged import Ragged

CHUNK = 2048  # sentences between two writes


def keep_lower_states(sentences: Sentences, encoder: SentenceStates, folder: Path, *, name: str) -> None:
    """Replace the token ids of `sentences` by ``encoder.lower``'s states: fp16, memory-mapped, ``[total, d]``.

    The file is named after everything it depends on (frozen weights, token ids), so it is found again by the other
    direction and by the next run, and never used for anything else. Nothing happens where no layer is frozen.

    Where the device multiplies bfloat16 natively, the layers run in it: three times as fast, 0.6 % off in norm.
    """
    if not encoder.frozen_layers or not len(sentences):
        return
    rows, half = sentences.rows, fast_bfloat16(encoder.bert.device)
    path = folder / f"{name}-{_key(rows, encoder, half=half)}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # several processes of one training come here at once: one computes, the others wait; a killed one lets go
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                _write(path, rows, encoder, half=half, name=name)
    sentences.rows = Ragged(torch.from_numpy(np.load(path, mmap_mode="c")), rows.lengths)


def _write(path: Path, rows: Ragged, encoder: SentenceStates, *, half: bool, name: str) -> None:
    shape = (len(rows.flat), encoder.bert.config.hidden_size)
    work = path.with_suffix(".part")
    states = np.lib.format.open_memmap(work, mode="w+", dtype=np.float16, shape=shape)
    at = 0
    for first in tqdm(range(0, len(rows), CHUNK), desc=f"states of frozen layers, {name}", unit="chunk"):
        with torch.autocast(encoder.bert.device.type, torch.bfloat16, enabled=half):
            part = encoder.lower(rows.select(torch.arange(first, min(first + CHUNK, len(rows)))))
        states[at : at + len(part.flat)] = part.flat.to(torch.float16).numpy()
        at += len(part.flat)
    states.flush()
    os.replace(work, path)


def _key(rows: Ragged, encoder: SentenceStates, *, half: bool) -> str:
    digest = hashlib.sha256(f"{encoder.frozen_layers} {half}".encode())
    digest.update(rows.flat.numpy().tobytes())
    digest.update(rows.lengths.numpy().tobytes())
    for parameter in encoder.frozen_parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
