"""NumPy arrays on disk, memory-mapped if they are large and checked before use, and the numbering of rows of which some
are deleted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tokenize import TokenError

import numpy as np

from bgr.errors import DataError
from bgr.utils.atomic_io import check_regular, writing
from bgr.utils.error_text import problem
from bgr.utils.json_utils import one_line

DAMAGED = (ValueError, EOFError, SyntaxError, TokenError, MemoryError, OverflowError)
"""Errors that NumPy raises for a file that is not an array; a damaged header may fail in Python's tokenizer."""

REBUILD = "build the collection again"

MAPPED_FROM = 1 << 20
"""Size in bytes from which a file is memory-mapped. A mapped file stays open, and a process may open some thousand
files, while each addition to a collection makes seven: smaller ones are read."""


def open_array(
    path: Path, dtype: type[np.generic], shape: tuple[int | None, ...], *, todo: str = REBUILD
) -> np.ndarray:
    """A read-only array, which is memory-mapped from `MAPPED_FROM` bytes on.

    `save_rows` or `numpy.save` wrote the file; ``None`` in `shape` accepts any length. `todo` is what a message
    advises.

    Raises:
        DataError: the file is missing, cannot be read, is damaged, or an array of another type or shape.
    """
    try:
        array = _read(path)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; {todo}") from None
    except OSError as error:  # such as too many open files: the file itself may be sound
        raise DataError(f"{path}: cannot be read: {problem(error)}") from None
    except DAMAGED as error:
        # numpy names an option that reads code; nobody should follow it
        why = "no array of numbers" if "pickle" in str(error) else one_line(error)
        raise DataError(f"{path}: damaged or cut short; {todo} ({why})") from None
    fits = array.dtype == dtype and array.ndim == len(shape)
    if (
        not fits
        or not array.flags.c_contiguous
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        wanted = f"{np.dtype(dtype)} [{', '.join('any' if n is None else str(n) for n in shape)}]"
        raise DataError(f"{path}: not an array of {wanted}; {todo}")
    return array


def _read(path: Path) -> np.ndarray:
    check_regular(path)
    if path.stat().st_size >= MAPPED_FROM:
        return np.lib.format.open_memmap(path, mode="r")
    with path.open("rb") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    array.flags.writeable = False
    return array


def save_rows(path: Path, blocks: Iterable[np.ndarray], rows: int, dtype: type[np.generic]) -> int:
    """Write an array ``[rows, d]`` from blocks ``[n, d]``, at least one, with one block in memory; returns `d`.

    Raises:
        DataError: the file cannot be written.
        ValueError: the blocks do not fit together.
    """
    width, written = -1, 0
    with writing(path), path.open("wb") as file:
        for block in blocks:
            if width < 0:
                width = block.shape[1]
                header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (rows, width)}
                np.lib.format.write_array_header_1_0(file, header)
            if block.ndim != 2 or block.shape[1] != width:
                raise ValueError(f"a block of shape {block.shape} among rows of {width}")
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
            written += len(block)
    if width < 0 or written != rows:
        raise ValueError(f"{written} rows given of {rows}")
    return width


def save_array(path: Path, array: np.ndarray) -> None:
    """Write an array; DataError if the file cannot be written."""
    with writing(path), path.open("wb") as file:  # NumPy would append .npy to a name
        np.save(file, array, allow_pickle=False)


class LiveRows:
    """Maps indices (of the texts that are left, without gaps) to rows (of all texts that were written) and back.

    `rows` counts deleted rows too; `deleted` is ``int64 [n]``, ascending, each below `rows`.
    """

    def __init__(self, rows: int, deleted: np.ndarray | None = None) -> None:
        self.rows = rows
        self.deleted = np.zeros(0, dtype=np.int64) if deleted is None else deleted
        self._before = self.deleted - np.arange(len(self.deleted))  # indices before each deleted row

    def __len__(self) -> int:
        return self.rows - len(self.deleted)

    def index_of(self, rows: np.ndarray) -> np.ndarray:
        """The indices of rows that are not deleted, ``int64`` of any shape."""
        return rows - np.searchsorted(self.deleted, rows)

    def row_of(self, indices: np.ndarray) -> np.ndarray:
        """The rows of indices, ``int64`` of any shape."""
        return indices + np.searchsorted(self._before, indices, side="right")

    def live(self, rows: np.ndarray) -> np.ndarray:
        """True for rows that are not deleted, ``bool`` of any shape."""
        if not len(self.deleted):
            return np.ones(rows.shape, dtype=bool)
        at = np.minimum(np.searchsorted(self.deleted, rows), len(self.deleted) - 1)
        return self.deleted[at] != rows

    def mask(self) -> np.ndarray:
        """``bool [rows]``, false where deleted."""
        mask = np.ones(self.rows, dtype=bool)
        mask[self.deleted] = False
        return mask
