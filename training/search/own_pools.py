"""Candidates that a trained retriever finds for training questions in a collection: the near facts of its own search.

Training on them is repeated by hand: train, search, train again from the checkpoint (``--init``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from bgr.collection.collection import Collection
from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import CheckpointError, DataError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.graph_hop.checkpoint import SETTINGS
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.cache import ChunkCache, cache_folder, writable_folder
from bgr.utils.hashing import hash_files, hash_texts
from bgr.utils.progress import progress_bar

GROUP = 64
"""Questions whose pools are searched and kept together."""

FORMAT = 1


def pools_cache(states: Path | None) -> Path:
    """The folder in which pools are kept: the given one, or the user's cache.

    Raises:
        DataError: there is none, or it cannot be written.
    """
    home = cache_folder()
    if states is None and home is None:
        raise DataError("there is no home folder to keep the pools in; give --states DIR")
    folder = states or Path(home or "", "states")
    if problem := writable_folder(folder):
        raise DataError(f"{folder}: cannot be written: {problem}; give another folder as --states DIR")
    return folder


def searched_examples(data: Path, split: str, most: int, *, last: bool = False) -> list[Example]:
    """The first (or last) `most` questions with an answer of a split; DataError if there is none."""
    examples = load_split(data, split)
    examples = examples[-most:] if last else examples[:most]
    if not examples:
        raise DataError(f"{data}: the split {split!r} has no question with an answer")
    return examples


def weights_hash(checkpoint: Path) -> str:
    """A hash of all that the search of a checkpoint depends on, its ranker included; CheckpointError if it lacks a
    file."""
    parts = ["forward", "backward", *([RANKER] if (checkpoint / RANKER).exists() else [])]
    try:
        return hash_files(checkpoint, [SETTINGS, *(f"{part}/model.safetensors" for part in parts)])
    except OSError as error:
        raise CheckpointError(f"{error.filename}: cannot be read: {error.strerror}") from None


def own_pools(
    checkpoint: Path,
    folder: Path,
    examples: Sequence[Example],
    size: int,
    cache: Path,
    *,
    device: str | torch.device | None = None,
    progress: bool = False,
) -> Mapping[str, list[str]]:
    """The `size` best texts of a collection for each question, by the question's id. They are kept in `cache`, group by
    group, so that both directions share them and an interrupted search goes on. They are searched on `device`, by
    default a GPU if there is one.

    Raises:
        BgrError: the checkpoint or the collection cannot be loaded.
        DataError: the cache cannot be written.
    """
    collection = Collection.open(folder, encoder=None)
    weights = weights_hash(checkpoint)
    kept = ChunkCache(cache, "pools")
    pipeline: BgrPipeline | None = None
    found: dict[str, list[str]] = {}
    with progress_bar(len(examples), "own pools", "question", show=progress) as bar:
        for start in range(0, len(examples), GROUP):
            group = examples[start : start + GROUP]
            questions = [example.question for example in group]
            name = hash_texts(str(FORMAT), weights, collection.hash, str(size), *questions)
            body = kept.load(name)
            if body is None:
                pipeline = pipeline or BgrPipeline.from_pretrained(checkpoint, device=device)
                hits = pipeline.search_over(collection).search(questions, size)
                rows = [[collection.corpus[index].whole for index in one.indices.tolist()] for one in hits]
                body = json.dumps(rows, ensure_ascii=False).encode()
                kept.save(name, body)
            rows = json.loads(body)
            if len(rows) != len(group):
                raise DataError(f"{cache}: a damaged group of pools; remove the folder")
            found.update({example.id: row for example, row in zip(group, rows, strict=True)})
            bar.update(len(group))
    return found
