"""Sentence vectors: mean-pooled, normalized states of a BERT-like encoder, and a store of them on disk.

The store keeps vectors chunk by chunk, so that an interrupted run resumes where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from bgr.errors import CheckpointError
from bgr.models.packaged import packaged_minilm
from bgr.utils.cache import ChunkCache
from bgr.utils.devices import fast_bfloat16, pick_device
from bgr.utils.hashing import hash_files, hash_texts


class SentenceEncoder:
    """Turns sentences into unit vectors; the mean of the last token states, as all-MiniLM-L6-v2 was trained.

    Sentences are sorted by length and batched by tokens, so that a batch holds hardly any padding; equal sentences are
    encoded once. On a GPU, and on a CPU that multiplies bfloat16 in hardware, the model runs in bfloat16.

    Args:
        folder: a local folder with an encoder and its tokenizer in the form of `transformers`.
        batch_tokens: the largest number of tokens, padding included, in one batch.
        max_tokens: longer sentences are cut here.
        device: where to run; ``None`` takes a GPU if there is one.
        progress: show a bar on standard error.

    Raises:
        CheckpointError: the folder does not hold a model that can be loaded.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        batch_tokens: int = 4096,
        max_tokens: int = 128,
        device: str | None = None,
        progress: bool = False,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        if not Path(folder).is_dir():
            raise CheckpointError(f"{folder}: no such folder (an encoder is a local folder with config and weights)")
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()  # of the weights, which load in a blink
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            model = AutoModel.from_pretrained(str(folder), local_files_only=True)
        except (OSError, ValueError, KeyError) as error:
            raise CheckpointError(f"{folder}: not an encoder that transformers can load: {error}") from error
        finally:
            if bars:
                logging.enable_progress_bar()
        self.folder = Path(folder)
        self.device = pick_device(device)
        dtype = torch.bfloat16 if fast_bfloat16(self.device) else torch.float32
        self.model = model.to(self.device, dtype).eval()
        self.batch_tokens = batch_tokens
        self.max_tokens = max_tokens
        self.progress = progress

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one unit vector a text, in the order given."""
        distinct = list(dict.fromkeys(texts))
        vectors = np.zeros((len(distinct), self.model.config.hidden_size), dtype=np.float32)
        if not distinct:
            return vectors
        tokens = self.tokenizer(distinct, truncation=True, max_length=self.max_tokens)["input_ids"]
        with tqdm(total=len(distinct), desc="encode", unit="sentence", disable=not self.progress) as bar:
            for rows in _batches([len(ids) for ids in tokens], self.batch_tokens):
                vectors[rows] = self._encode([tokens[row] for row in rows])
                bar.update(len(rows))
        if len(distinct) == len(texts):
            return vectors
        row_of = {text: row for row, text in enumerate(distinct)}
        return vectors[[row_of[text] for text in texts]]

    def fingerprint(self) -> str:
        """SHA-256 of everything that determines the vectors of a list of sentences.

        Besides the model's files these are its precision and limits, and what determines the last bits of a sum:
        device, threads, instruction set, version of PyTorch.
        """
        names = sorted(file.name for file in self.folder.iterdir() if file.is_file())
        parts = (
            hash_files(self.folder, names),
            self.model.dtype,
            self.batch_tokens,
            self.max_tokens,
            torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else self.device.type,
            torch.get_num_threads(),
            torch.backends.cpu.get_cpu_capability(),
            torch.__version__,
        )
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()

    def identity(self) -> str:
        """SHA-256 of what determines the vectors up to rounding: the model's files, and where texts are cut.

        Unlike `fingerprint` it is the same on every machine: a collection knows its encoder by it.
        """
        names = sorted(file.name for file in self.folder.iterdir() if file.is_file())
        return hashlib.sha256(f"{hash_files(self.folder, names)}\0{self.max_tokens}".encode()).hexdigest()

    @torch.inference_mode()
    def _encode(self, tokens: list[list[int]]) -> np.ndarray:
        longest = max(map(len, tokens))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in tokens], device=self.device)  # [n, t]
        lengths = torch.tensor([len(row) for row in tokens], device=self.device)
        mask = torch.arange(longest, device=self.device)[None, :] < lengths[:, None]  # [n, t]
        # without padding no mask: the encoder then takes its fast path
        attention = None if bool(mask.all()) else mask.long()
        states = self.model(input_ids=ids, attention_mask=attention).last_hidden_state.float()  # [n, t, d]
        mean = states.masked_fill(~mask[:, :, None], 0.0).sum(1) / lengths[:, None]
        return torch.nn.functional.normalize(mean, dim=-1).cpu().numpy()


PASSAGE_TOKENS = 256
"""Passages are cut here, at the length that all-MiniLM-L6-v2 was made for."""


def passage_encoder(folder: str | Path | None = None, *, device: str | None = None) -> SentenceEncoder:
    """The encoder in a folder, by default the packaged MiniLM, for passages, triples and questions.

    Raises:
        CheckpointError: the folder does not hold a model that can be loaded.
    """
    return SentenceEncoder(folder or packaged_minilm(), max_tokens=PASSAGE_TOKENS, device=device)


def _batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Row numbers, longest first, so that a batch's padded size stays within `batch_tokens` (one row at least)."""
    batch: list[int] = []
    longest = 0
    for row in sorted(range(len(lengths)), key=lambda row: (-lengths[row], row)):
        longest = longest or lengths[row]
        if batch and longest * (len(batch) + 1) > batch_tokens:
            yield batch
            batch, longest = [], lengths[row]
        batch.append(row)
    if batch:
        yield batch


CHUNK = 4096
"""Sentences in a chunk: some seconds of work on a CPU, and enough to batch by length without much padding."""

VALUE = np.dtype("<f4")


class VectorStore:
    """An encoder with a cache: finished chunks are read from the folder the next time.

    The list is always cut into the same chunks, whatever is on disk: the sentences that share a batch, and so every bit
    of every vector, are the same in an interrupted run as in any other. A chunk is named by the hash of the encoder's
    key and of its sentences; a damaged one is encoded again.

    Args:
        encoder: sentences to ``float32 [n, d]``.
        folder: where to keep the chunks; made when the first is written.
        key: names the encoder and all that decides its vectors, as `SentenceEncoder.fingerprint` does.
        chunk: sentences in a chunk.
        progress: show a bar on standard error.
    """

    def __init__(
        self,
        encoder: Callable[[Sequence[str]], np.ndarray],
        folder: str | Path,
        *,
        key: str,
        chunk: int = CHUNK,
        progress: bool = False,
    ) -> None:
        self.encoder = encoder
        self.kept = ChunkCache(folder, "vectors")
        self.key = key
        self.chunk = chunk
        self.progress = progress

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one vector a text, in the order given.

        Raises:
            DataError: the folder cannot be written.
        """
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return self.encoder(distinct)
        vectors = np.empty((0, 0), dtype=np.float32)
        with tqdm(total=len(distinct), desc="encode", unit="sentence", disable=not self.progress) as bar:
            for start, part in self._chunks(distinct):
                rows = self._vectors(part)
                if not start:
                    vectors = np.empty((len(distinct), rows.shape[1]), dtype=np.float32)
                vectors[start : start + len(part)] = rows
                bar.update(len(part))
        if len(distinct) == len(texts):  # no second copy of what may be a gigabyte
            return vectors
        row_of = {text: row for row, text in enumerate(distinct)}
        return vectors[[row_of[text] for text in texts]]

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        self.kept.clear()

    def _chunks(self, texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        for start in range(0, len(texts), self.chunk):
            yield start, texts[start : start + self.chunk]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        name = hash_texts(self.key, *texts)
        body = self.kept.load(name)
        if body and not len(body) % (len(texts) * VALUE.itemsize):
            return np.frombuffer(body, dtype=VALUE).reshape(len(texts), -1)
        found = self.encoder(texts)
        self.kept.save(name, np.ascontiguousarray(found, dtype=VALUE).tobytes())
        return found
