"""One part of an index folder: passages that were added together, their words counted and their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bgr.collection.arrays import open_array, save_rows
from bgr.collection.bm25 import CountsFolder, WordCounts, count_words, save_counts
from bgr.collection.corpus import Corpus, Passage, load_corpus, save_corpus
from bgr.collection.embedding import CHUNK, VectorStore
from bgr.collection.manifest import Piece, hashed
from bgr.collection.vectors import Encoder, check_unit
from bgr.errors import DataError
from bgr.utils.atomic_io import writing
from bgr.utils.cache import ChunkCache

PASSAGES, VECTORS = "passages.jsonl", "vectors.npy"

ENCODED = "encoded"
"""Folder, in that of the index, of vectors that a cut-off run had finished; the next run takes them from there."""


class Segment:
    """A part that is open; the vectors are memory-mapped, the passages are read when they are asked for.

    Raises:
        DataError: a file is missing, damaged, or of another size than it must have.
    """

    def __init__(self, folder: Path, size: int, dimensions: int, half: bool) -> None:
        self.folder = folder
        self.size = size
        self.counts = CountsFolder(folder, size)
        dtype = np.float16 if half else np.float32
        self.vectors = open_array(folder / VECTORS, dtype, (size, dimensions)) if dimensions else None

    def passages(self) -> Corpus:
        """All of them, deleted ones included.

        Raises:
            DataError: the file is damaged.
        """
        corpus = load_corpus(self.folder / PASSAGES)
        if len(corpus) != self.size:
            raise DataError(f"{self.folder / PASSAGES}: {len(corpus)} passages of {self.size}; build the index again")
        return corpus


def write_segment(folder: Path, passages: Sequence[Passage], counts: WordCounts | None = None) -> None:
    """Make the folder of a part, without vectors yet.

    Args:
        folder: does not exist yet.
        passages: at least one.
        counts: of their words, where they are known.

    Raises:
        DataError: it cannot be written.
    """
    with writing(folder):
        folder.mkdir()
    save_corpus(passages, folder / PASSAGES)
    save_counts(folder, counts or count_words([passage.whole for passage in passages]))


def new_segment(
    folder: Path,
    number: str,
    passages: Sequence[Passage],
    encoder: Encoder | None,
    key: str | None,
    *,
    half: bool = False,
    progress: bool = False,
) -> tuple[Piece, int]:
    """Add a part to an index folder, whose manifest does not name it yet.

    Args:
        folder: of the index.
        number: of the part, six digits.
        passages: at least one.
        encoder: ``None`` for a part without vectors. Vectors that a cut-off run had finished are not encoded again.
        key: names the encoder.
        half: whether to keep the vectors as float16.
        progress: show a bar on standard error.

    Returns:
        The part with its size and hashes, and the dimensions of its vectors, 0 without.

    Raises:
        DataError: it cannot be written.
        ValueError: the encoder does not give unit vectors.
    """
    piece = Piece(f"segment-{number}", len(passages))
    write_segment(folder / piece.name, passages)
    if encoder is None or key is None:
        return hashed(folder, piece), 0
    blocks = _encoded(passages, VectorStore(encoder, folder / ENCODED, key=key), progress)
    width = save_rows(folder / piece.name / VECTORS, blocks, len(passages), np.float16 if half else np.float32)
    return hashed(folder, piece), width


def forget_encoded(folder: Path) -> None:
    """Remove what was kept for a run that might be cut off, once its vectors are in place."""
    ChunkCache(folder / ENCODED, "vectors").clear()


def _encoded(passages: Sequence[Passage], encoder: Encoder, progress: bool) -> Iterator[np.ndarray]:
    with tqdm(total=len(passages), desc="encode", unit="passage", disable=not progress) as bar:
        for start in range(0, len(passages), CHUNK):
            texts = [passage.whole for passage in passages[start : start + CHUNK]]
            yield check_unit(encoder(texts), len(texts), f"passages {start} to {start + len(texts) - 1}")
            bar.update(len(texts))
