"""Sentence vectors: pooled, normalized states of an encoder, and a store of them on disk.

The store keeps vectors chunk by chunk, so that an interrupted run resumes where it stopped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from tqdm import tqdm

from bgr.collection.options import EncoderSpec, Pooling
from bgr.collection.spread import SpreadEncoder
from bgr.errors import BgrError, CheckpointError
from bgr.models.loading import check_objects, without_bars
from bgr.models.packaged import packaged_minilm
from bgr.models.truncation import Truncation, tokenize
from bgr.utils.atomic_io import read_json
from bgr.utils.cache import ChunkCache
from bgr.utils.devices import pick_device, pick_precision
from bgr.utils.hashing import hash_files, hash_texts
from bgr.utils.json_utils import is_text, one_line
from bgr.utils.progress import progress_bar

if TYPE_CHECKING:
    from bgr.collection.embedding_server import EmbeddingServer


class SentenceEncoder:
    """Encodes sentences as unit vectors: the mean of the last token states, as all-MiniLM-L6-v2 was trained, or one of
    them, as instruction-tuned encoders were.

    Sentences are sorted by length and batched by tokens, which leaves little padding; equal sentences are encoded once.
    Processors of different kinds agree on the ranks that vectors in float32 give, but not on those in bfloat16.

    Args:
        folder: a local folder with an encoder and its tokenizer in the format of `transformers`.
        batch_tokens: maximum number of tokens in a batch, including padding.
        max_tokens: longer sentences are truncated, and counted in `truncation`.
        device: by default a GPU if there is one.
        pooling: vector of a text; by default what a folder of sentence-transformers says, else the mean.
        query_prefix: text before each query (`queries`); by default the folder's prompt of that name, else none.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        CheckpointError: the folder does not hold a model that can be loaded, or has another pooling.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        batch_tokens: int = 4096,
        max_tokens: int = 128,
        device: str | None = None,
        pooling: Pooling | None = None,
        query_prefix: str | None = None,
        precision: str | None = None,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        if not Path(folder).is_dir():
            raise CheckpointError(f"{folder}: no such folder (an encoder is a local folder with config and weights)")
        check_objects(Path(folder))
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            with without_bars():
                model = AutoModel.from_pretrained(str(folder), local_files_only=True)
        except Exception as error:  # damaged files raise errors of many types
            text = f"{folder}: not an encoder that transformers can load ({type(error).__name__}): {one_line(error)}"
            raise CheckpointError(text) from error
        self.folder = Path(folder)
        self.device = pick_device(device)
        dtype = torch.bfloat16 if pick_precision(self.device, precision) == "bf16" else torch.float32
        self.model = model.to(self.device, dtype).eval()
        self.batch_tokens = batch_tokens
        self.max_tokens = max_tokens
        self.pooling = _pooling_of(self.folder) if pooling is None else pooling
        self.query_prefix = _query_prompt_of(self.folder) if query_prefix is None else query_prefix
        self.truncation = Truncation()  # of all calls; sentences are distinct within a call

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one unit vector for each text."""
        distinct = list(dict.fromkeys(texts))
        vectors = np.zeros((len(distinct), self.model.config.hidden_size), dtype=np.float32)
        if not distinct:
            return vectors
        tokens, longer = tokenize(self.tokenizer, distinct, self.max_tokens)
        self.truncation += Truncation(len(longer), len(distinct))
        for rows in _batches([len(ids) for ids in tokens], self.batch_tokens):
            vectors[rows] = self._encode([tokens[row] for row in rows])
        return _repeated(vectors, distinct, texts)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one unit vector for each query, which is read after the prefix."""
        return self([self.query_prefix + text for text in texts])

    def fingerprint(self) -> str:
        """SHA-256 of everything that determines the vectors, including the last bits of a sum."""
        parts = (
            self._hash(),
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
        """SHA-256 of the model's files and the maximum length: by this name a collection knows its encoder on every
        machine, unlike by `fingerprint`."""
        return hashlib.sha256(f"{self._hash()}\0{self.max_tokens}".encode()).hexdigest()

    def _hash(self) -> str:
        found = hash_files(self.folder, sorted(file.name for file in self.folder.iterdir() if file.is_file()))
        # means without a prefix keep the names of vectors that were made before there was anything else
        plain = self.pooling == "mean" and not self.query_prefix
        return found if plain else hash_texts(found, self.pooling, self.query_prefix)

    @torch.inference_mode()
    def _encode(self, tokens: list[list[int]]) -> np.ndarray:
        longest = max(map(len, tokens))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (longest - len(row)) for row in tokens], device=self.device)  # [n, t]
        lengths = torch.tensor([len(row) for row in tokens], device=self.device)
        mask = torch.arange(longest, device=self.device)[None, :] < lengths[:, None]  # [n, t]
        # without a mask the encoder takes its fast path
        attention = None if bool(mask.all()) else mask.long()
        states = self.model(input_ids=ids, attention_mask=attention).last_hidden_state.float()  # [n, t, d]
        if self.pooling == "mean":
            pooled = states.masked_fill(~mask[:, :, None], 0.0).sum(1) / lengths[:, None]
        elif self.pooling == "cls":
            pooled = states[:, 0]
        else:
            pooled = states[torch.arange(len(tokens), device=self.device), lengths - 1]  # padding is on the right
        return torch.nn.functional.normalize(pooled, dim=-1).cpu().numpy()


PASSAGE_TOKENS = 256
"""Passages are truncated here, at the length that all-MiniLM-L6-v2 was made for."""


def load_encoder(
    given: str | Path | EncoderSpec | None = None, *, precision: str | None = None
) -> SentenceEncoder | EmbeddingServer:
    """The encoder in a folder or on a server, by default the packaged MiniLM, for passages, triples and questions.

    Args:
        precision: of a folder's encoder, as in `SentenceEncoder`.

    Raises:
        CheckpointError: the folder does not hold an encoder.
        BgrError: the address is not valid.
    """
    spec = given if isinstance(given, EncoderSpec) else EncoderSpec(given)
    if spec.is_server:
        address, _, model = str(spec.place).partition("#")
        if not model:
            raise BgrError("a server of embeddings requires its model after the address: http://host:port/v1#model")
        try:  # the client is part of an extra
            from bgr.collection.embedding_server import EmbeddingServer
        except ImportError as error:
            raise BgrError(f"{spec.place}: {one_line(error)} (pip install 'bgr[llm]')") from None
        return EmbeddingServer(address, model, query_prefix=spec.query_prefix or "")
    place = spec.place or packaged_minilm()
    return SentenceEncoder(
        place, max_tokens=PASSAGE_TOKENS, pooling=spec.pooling, query_prefix=spec.query_prefix, precision=precision
    )


POOLINGS: Mapping[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}
"""Keys of the pooling's file in a folder of sentence-transformers."""


def _pooling_of(folder: Path) -> Pooling:
    """The pooling of a folder of sentence-transformers, else the mean; CheckpointError for any other pooling."""
    file = folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "mean"
    found = read_json(file)
    on = [name for name, value in found.items() if value is True] if isinstance(found, dict) else []
    modes = [name for name in on if name.startswith("pooling_mode_")]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise CheckpointError(f"{file}: pooling {', '.join(modes) or 'missing'}; allowed: one of {', '.join(POOLINGS)}")
    return POOLINGS[modes[0]]


def _query_prompt_of(folder: Path) -> str:
    """The prompt for queries of a folder of sentence-transformers; empty if there is none."""
    file = folder / "config_sentence_transformers.json"
    found = read_json(file) if file.is_file() else None
    prompts = found.get("prompts") if isinstance(found, dict) else None
    prompt = prompts.get("query") if isinstance(prompts, dict) else None
    return prompt if isinstance(prompt, str) and is_text(prompt) else ""


def _repeated(vectors: np.ndarray, distinct: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """The vectors of texts from those of the distinct texts."""
    if len(distinct) == len(texts):  # no second copy of what may be a gigabyte
        return vectors
    row_of = {text: row for row, text in enumerate(distinct)}
    return vectors[[row_of[text] for text in texts]]


def _batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Row numbers, longest first; the padded size of a batch is at most `batch_tokens` unless it is a single row."""
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
"""Number of sentences in a chunk: some seconds of work on a CPU, and enough for full batches."""

VALUE = np.dtype("<f4")


class VectorStore:
    """An encoder with a cache on disk, chunk by chunk.

    A list is always cut into the same chunks: sentences that share a batch, and so every bit of every vector, do not
    depend on what is cached. A chunk is named by a hash of key and sentences; a damaged one is encoded again.

    Args:
        encoder: sentences to ``float32 [n, d]``.
        key: names everything that determines the vectors, as `SentenceEncoder.fingerprint` does.
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
        self.encoder, self.key, self.chunk, self.progress = encoder, key, chunk, progress
        self.kept = ChunkCache(folder, "vectors")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one vector for each text; DataError if the folder cannot be written."""
        distinct = _distinct(texts)
        if not distinct:
            return self.encoder(distinct)
        vectors = np.empty((0, 0), dtype=np.float32)
        with tqdm(total=len(distinct), desc="encode", unit="sentence", disable=not self.progress) as bar:
            for start in self._starts(distinct):
                part = distinct[start : start + self.chunk]
                rows = self._vectors(part)
                if not start:
                    vectors = np.empty((len(distinct), rows.shape[1]), dtype=np.float32)
                vectors[start : start + len(part)] = rows
                bar.update(len(part))
        return _repeated(vectors, distinct, texts)

    def fill(self, lists: Iterable[Sequence[str]], encoder: SpreadEncoder, *, progress: bool = False) -> None:
        """Let workers encode what is not kept yet of lists of texts, of which each is then cut into the same chunks as
        when it is encoded here. See `map_work` for errors."""
        parts = (texts[start : start + self.chunk] for texts in map(_distinct, lists) for start in self._starts(texts))
        named = ((hash_texts(self.key, *part), part) for part in parts)
        missing = {name: part for name, part in named if self._load(name, part) is None}
        with progress_bar(sum(map(len, missing.values())), "encode", "sentence", show=progress) as bar:
            for (name, part), rows in zip(missing.items(), encoder.each(list(missing.values())), strict=True):
                self._save(name, rows)
                bar.update(len(part))

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        self.kept.clear()

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        name = hash_texts(self.key, *texts)
        found = self._load(name, texts)
        if found is None:
            found = self.encoder(texts)
            self._save(name, found)
        return found

    def _starts(self, texts: Sequence[str]) -> range:
        return range(0, len(texts), self.chunk)

    def _load(self, name: str, texts: Sequence[str]) -> np.ndarray | None:
        body = self.kept.load(name)
        if not body or len(body) % (len(texts) * VALUE.itemsize):
            return None
        return np.frombuffer(body, dtype=VALUE).reshape(len(texts), -1)

    def _save(self, name: str, vectors: np.ndarray) -> None:
        self.kept.save(name, np.ascontiguousarray(vectors, dtype=VALUE).tobytes())


def _distinct(texts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(texts))
