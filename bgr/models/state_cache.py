"""Cache of token states on disk, in fp16 and memory-mapped: each sentence is computed once for one set of weights.

::

    FOLDER/KEY/states.bin    token states ``[total, width]`` of all sentences so far, only ever appended to
    FOLDER/KEY/index.bin     one record for each sentence: 16 bytes of a hash of its token ids, number of tokens
    FOLDER/KEY/lock

KEY is a hash of the weights and of everything else that the states depend on. States are written before their records,
so that a process that is killed leaves at most states without records, which the next one overwrites.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor

from bgr.models.batching import Sentences
from bgr.models.encoder import SentenceStates
from bgr.models.ragged import EncodedRows, Ragged, Rows, StoredRows
from bgr.models.retriever import BgrRetriever
from bgr.utils.atomic_io import writing
from bgr.utils.devices import autocast, pick_precision
from bgr.utils.progress import progress_bar
from bgr.utils.ray_map import RayOptions, map_work

CHUNK = 2048
"""Sentences computed together, and stored before the next ones: a killed process loses at most these."""
DTYPE = np.float16
RECORD = np.dtype([("hash", "V16"), ("tokens", "<u4")])


@dataclass(frozen=True)
class CacheUse:
    """A cache after its use: its folder and size in bytes, and how many distinct sentences were in it before and were
    computed."""

    folder: Path
    size: int
    found: int
    computed: int

    def after(self, before: CacheUse) -> CacheUse:
        """This use and one before it of the same cache, as one."""
        return replace(self, found=before.found + self.found, computed=before.computed + self.computed)


class StateCache:
    """Token states of sentences in a folder.

    Args:
        folder: folder of all caches, which is created.
        weights: the weights that the states depend on.
        setting: everything else that they depend on.
        width: width of a state.
        name: start of the folder's name, for its readers.

    Raises:
        DataError: the folder cannot be written.
    """

    def __init__(self, folder: Path, weights: Iterable[Tensor], *, setting: str, width: int, name: str) -> None:
        digest = hashlib.sha256(f"{setting} {width} {np.dtype(DTYPE).name}".encode())
        for tensor in weights:
            digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        self.folder = folder / f"{name}-{digest.hexdigest()[:16]}"
        self.width = width
        self._states, self._index = self.folder / "states.bin", self.folder / "index.bin"
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def states(
        self,
        rows: Rows,
        compute: Callable[[Rows], Ragged],
        *,
        title: str = "states",
        progress: bool = False,
        each: Callable[[Iterable[Rows]], Iterator[Ragged]] | None = None,
    ) -> tuple[StoredRows, CacheUse]:
        """The states of the token ids `rows`. Those that are missing are computed first: `compute` gives those of some
        of the rows, with the same lengths. `each` calls it for several groups of rows, by default one after the other.

        If several processes call this at once, one computes and the others wait. A process that is killed releases the
        lock. The sentences that are missing are computed in their order, in chunks of fixed size, so that a run that is
        killed here and resumed computes the same states as one that is not.
        """
        hashes = _hashes(rows)
        with writing(self.folder), FileLock(self.folder / "lock"):
            known, size = self._known()
            first = {name: number for number, name in reversed(list(enumerate(hashes)))}
            missing = sorted(number for name, number in first.items() if name not in known)
            if missing:
                chunks = [missing[start : start + CHUNK] for start in range(0, len(missing), CHUNK)]
                parts = (rows.select(torch.tensor(chunk)) for chunk in chunks)
                states = map(compute, parts) if each is None else each(parts)
                with progress_bar(len(missing), title, "sentence", show=progress) as bar:
                    for chunk, part in zip(chunks, states, strict=True):
                        size = self._append(rows, hashes, chunk, known, size, part)
                        bar.update(len(chunk))
        starts = torch.tensor([known[name] for name in hashes], dtype=torch.long)
        use = CacheUse(self.folder, size * self._bytes, len(first) - len(missing), len(missing))
        return StoredRows(self._table(size), starts, rows.lengths), use

    def _table(self, size: int) -> Tensor:
        # read-only, since a large writable mapping may be refused
        flat = np.memmap(self._states, DTYPE, mode="r", shape=(size, self.width))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(flat)

    @property
    def _bytes(self) -> int:
        """Size of one token's state."""
        return self.width * np.dtype(DTYPE).itemsize

    def _known(self) -> tuple[dict[bytes, int], int]:
        """The first token of each stored sentence, and the number of tokens. Records without states are cut off."""
        if not (self._index.exists() and self._states.exists()):
            self._index.write_bytes(b"")
            self._states.write_bytes(b"")
        raw = self._index.read_bytes()
        records = np.frombuffer(raw[: len(raw) // RECORD.itemsize * RECORD.itemsize], RECORD)
        ends = records["tokens"].astype(np.int64).cumsum()
        count = int(np.searchsorted(ends, self._states.stat().st_size // self._bytes, side="right"))
        size = int(ends[count - 1]) if count else 0
        for path, whole in ((self._index, count * RECORD.itemsize), (self._states, size * self._bytes)):
            if path.stat().st_size > whole:
                os.truncate(path, whole)
        starts = (ends - records["tokens"])[:count].tolist()
        return dict(zip(map(bytes, records["hash"][:count]), starts, strict=True)), size

    def _append(
        self, rows: Rows, hashes: list[bytes], chunk: list[int], known: dict[bytes, int], size: int, part: Ragged
    ) -> int:
        """Store the states `part` of the rows `chunk`, add them to `known`, and return the new number of tokens."""
        with self._states.open("ab") as states:
            part.flat.float().cpu().numpy().astype(DTYPE).tofile(states)
            states.flush()
            os.fsync(states.fileno())
        lengths = rows.lengths[chunk].tolist()
        for number, length in zip(chunk, lengths, strict=True):
            known[hashes[number]] = size
            size += length
        records = np.zeros(len(chunk), RECORD)
        records["hash"] = [np.void(hashes[number]) for number in chunk]
        records["tokens"] = lengths
        with self._index.open("ab") as index:
            index.write(records.tobytes())
        return size


def _hashes(rows: Rows) -> list[bytes]:
    """A hash of the token ids of each row."""
    raw = rows.ids.to(torch.int32).cpu().numpy().tobytes()
    ends = (4 * rows.lengths.cumsum(0)).tolist()
    starts = [0, *ends]
    return [
        hashlib.blake2b(raw[start:end], digest_size=16).digest() for start, end in zip(starts[:-1], ends, strict=True)
    ]


def cache_lower(
    sentences: Sentences, encoder: SentenceStates, folder: Path, *, title: str = "states", progress: bool = False
) -> CacheUse | None:
    """Give `sentences` the states of ``encoder.lower``; nothing happens without frozen layers. See `StateCache`.

    Other models and later runs with the same encoder use them too. If the device supports bfloat16 natively, the layers
    use it: three times as fast, with an error of 0.6 % in norm.
    """
    if not encoder.frozen_layers or not len(sentences):
        return None
    device = encoder.bert.device
    setting, width = f"{encoder.frozen_layers} {pick_precision(device)}", encoder.bert.config.hidden_size
    cache = StateCache(folder, encoder.frozen_parameters(), setting=setting, width=width, name="frozen")

    def compute(rows: Ragged) -> Ragged:
        with autocast(device):
            return encoder.lower(rows.to(device))

    title = f"states of frozen layers, {title}"
    sentences.states, use = cache.states(sentences.rows, compute, title=title, progress=progress)
    return use


class FactEncoder:
    """``model.encode``, which a worker of Ray computes in the same precision as this process."""

    def __init__(self, model: BgrRetriever) -> None:
        self.model = model
        self.half = torch.is_autocast_enabled(model.device.type)

    @torch.inference_mode()
    def __call__(self, rows: Rows) -> Ragged:
        device = self.model.device
        with torch.autocast(device.type, torch.bfloat16, enabled=self.half):
            return self.model.encode(rows.to(device))


def _itself(encoder: FactEncoder) -> FactEncoder:
    return encoder


def cache_encoded(
    facts: Sentences, model: BgrRetriever, folder: Path, *, progress: bool = False, ray: RayOptions | None = None
) -> None:
    """Give `facts` the states of ``model.encode``, of a model in evaluation mode. See `StateCache`."""
    if not len(facts):
        return
    compute = FactEncoder(model)
    direction = model.config.direction
    weights = [parameter.float() for part in (model.encoder, model.project) for parameter in part.parameters()]
    setting = f"{model.config.frozen_layers} {compute.half}"
    cache = StateCache(folder, weights, setting=setting, width=model.config.width, name=direction)
    each = partial(map_work, partial(_itself, compute), options=ray, device=model.device.type)
    states, _ = cache.states(facts.rows, compute, title=f"facts, {direction}", progress=progress, each=each)
    facts.states = replace(states, kind=EncodedRows)
