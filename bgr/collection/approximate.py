"""Approximate nearest neighbors for millions of vectors: FAISS's inverted lists of compressed vectors.

The lists only propose candidates, whose scores are computed from the vectors themselves (`VectorRows`). So a score is
exact, and only a neighbor that is not proposed is lost.

The index is kept as plain arrays, which are checked when they are opened: FAISS's own files are not made for untrusted
content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch
from tqdm import tqdm

from bgr.collection.arrays import open_array
from bgr.errors import DataError

EXACT_UP_TO = 1_000_000
"""Number of vectors up to which the search is exact: a second for a few queries on two cores."""

BYTES_UP_TO = 4_000_000
"""Number of vectors up to which each dimension is one byte; beyond, four dimensions share one."""

BLOCK = 65_536
"""Number of vectors that are added at once."""

SAMPLE = 32
"""Vectors for each list from which the centroids are trained."""

PROBED = 32
"""One of so many lists is read for a query, and at least `MIN_PROBED`."""

MIN_PROBED = 16

CENTROIDS = 256
"""Values of a byte that codes a part; an index needs so many vectors for its training."""


def is_exact(count: int) -> bool:
    """Whether so few vectors are searched exactly."""
    return count <= EXACT_UP_TO


@dataclass(frozen=True)
class Form:
    """The form of an index.

    Args:
        lists: number of inverted lists.
        parts: parts of a vector, each coded as one byte by product quantization; 0 for a byte for each dimension.
    """

    lists: int
    parts: int

    @classmethod
    def for_size(cls, count: int, width: int) -> Form:
        """The form for a number of vectors: about √count lists; see `BYTES_UP_TO`."""
        lists = 1 << max(0, int(np.sqrt(count)).bit_length() - 1)
        parts = next(m for m in range(max(1, width // 4), 0, -1) if width % m == 0)
        return cls(lists, 0 if count <= BYTES_UP_TO else parts)


@dataclass(frozen=True, eq=False)
class Approximate:
    """An index of `n` vectors of width `d` in `l` lists, with `b` bytes for each vector.

    Args:
        centroids: ``float32 [l, d]``.
        trained: ``float32 [m]``, the parameters of the code: least value and range of each dimension (m = 2 d), or the
            centroids of the parts (m = 256 d).
        starts: ``int64 [l + 1]``, the first row of each list in `rows` and `codes`.
        rows: ``int32 [n]``, numbers of the vectors, by list.
        codes: ``uint8 [n, b]``.
    """

    centroids: np.ndarray
    trained: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    codes: np.ndarray

    @classmethod
    def build(cls, vectors: np.ndarray, form: Form | None = None, *, progress: bool = False) -> Approximate:
        """Index the vectors, float16 or float32 ``[n, d]``, which may be memory-mapped; the same ones alike."""
        count, width = vectors.shape
        form = form or Form.for_size(count, width)
        index = _empty(form, width)
        step = max(1, count // max(SAMPLE * form.lists, 40 * CENTROIDS))
        index.train(_float32(vectors[::step]))
        with tqdm(total=count, desc="index", unit=" vectors", disable=not progress, delay=1) as bar:
            for first in range(0, count, BLOCK):
                block = _float32(vectors[first : first + BLOCK])
                index.add(block)
                bar.update(len(block))
        return cls(*_arrays(index, form, width))

    def nearest(self, queries: np.ndarray, count: int) -> np.ndarray:
        """About `count` nearest rows for each query, in any order; -1 where there are fewer.

        *Shape:* ``float32 [q, d]`` -> ``int64 [q, count]``.
        """
        found: np.ndarray = self._index.search(np.ascontiguousarray(queries, dtype=np.float32), count)[1]
        return found

    @property
    def form(self) -> Form:
        width = self.centroids.shape[1]
        return Form(len(self.centroids), 0 if self.codes.shape[1] == width else self.codes.shape[1])

    @cached_property
    def _index(self) -> Any:
        form, width = self.form, self.centroids.shape[1]
        index = _empty(form, width)
        index.quantizer.add(np.ascontiguousarray(self.centroids))
        target = index.pq.centroids if form.parts else index.sq.trained
        faiss.copy_array_to_vector(np.ascontiguousarray(self.trained), target)
        index.is_trained = True
        for number in range(form.lists):
            part = slice(int(self.starts[number]), int(self.starts[number + 1]))
            rows, codes = self.rows[part].astype(np.int64), np.ascontiguousarray(self.codes[part])
            if len(rows):
                index.invlists.add_entries(number, len(rows), faiss.swig_ptr(rows), faiss.swig_ptr(codes))
        index.ntotal = len(self.rows)
        return index

    def save(self, folder: Path) -> None:
        """Write one file for each array."""
        for one in fields(self):
            np.save(_file(folder, one.name), getattr(self, one.name))

    @classmethod
    def open(cls, folder: Path, count: int, width: int) -> Approximate | None:
        """Open what `save` wrote for so many vectors; ``None`` if there is none.

        Raises:
            DataError: a file is missing or damaged, or is of other vectors.
        """
        if not _file(folder, "centroids").exists():
            return None
        kinds: Mapping[str, tuple[type[np.generic], tuple[int | None, ...]]] = {
            "centroids": (np.float32, (None, width)),
            "trained": (np.float32, (None,)),
            "starts": (np.int64, (None,)),
            "rows": (np.int32, (count,)),
            "codes": (np.uint8, (count, None)),
        }
        found = cls(**{name: open_array(_file(folder, name), *kind) for name, kind in kinds.items()})
        form = found.form
        trained = CENTROIDS * width if form.parts else 2 * width
        starts, rows = found.starts, found.rows
        valid = (
            len(starts) == form.lists + 1
            and len(found.trained) == trained
            and (not form.parts or width % form.parts == 0)
            and (starts[0], starts[-1]) == (0, count)
            and bool((np.diff(starts) >= 0).all())
            and (not count or 0 <= rows.min() <= rows.max() < count)
        )
        if not valid:
            raise DataError(f"{_file(folder, 'centroids')}: damaged, or of other vectors; build the collection again")
        return found


def _empty(form: Form, width: int) -> Any:
    """FAISS's index of a form, without vectors."""
    quantizer = faiss.IndexFlatIP(width)
    metric = faiss.METRIC_INNER_PRODUCT
    index: Any
    if form.parts:
        index = faiss.IndexIVFPQ(quantizer, width, form.lists, form.parts, 8, metric)
        index.pq.cp.min_points_per_centroid = 1  # no warning for a small sample
    else:
        index = faiss.IndexIVFScalarQuantizer(
            quantizer, width, form.lists, faiss.ScalarQuantizer.QT_8bit, metric, False
        )
    index.cp.niter, index.cp.spherical, index.cp.seed = 6, True, 0
    index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = SAMPLE, 1
    index.nprobe = min(form.lists, max(MIN_PROBED, form.lists // PROBED))
    return index


def _arrays(index: Any, form: Form, width: int) -> Sequence[np.ndarray]:
    """The fields of `Approximate`."""
    trained = faiss.vector_to_array(index.pq.centroids if form.parts else index.sq.trained)
    sizes = [index.invlists.list_size(number) for number in range(form.lists)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    size = int(index.invlists.code_size)
    rows, codes = np.empty(starts[-1], dtype=np.int32), np.empty((starts[-1], size), dtype=np.uint8)
    for number, count in enumerate(sizes):
        part = slice(int(starts[number]), int(starts[number + 1]))
        if count:
            rows[part] = faiss.rev_swig_ptr(index.invlists.get_ids(number), count)
            codes[part] = faiss.rev_swig_ptr(index.invlists.get_codes(number), count * size).reshape(count, size)
            index.invlists.resize(number, 0)  # not twice in memory
    centroids = index.quantizer.reconstruct_n(0, form.lists).reshape(form.lists, width)
    return centroids, trained.astype(np.float32), starts, rows, codes


def _float32(rows: np.ndarray) -> np.ndarray:
    # converts in hardware, several times as fast as NumPy
    return torch.from_numpy(np.ascontiguousarray(rows)).float().numpy()


def _file(folder: Path, name: str) -> Path:
    return folder / f"near_{name}.npy"
