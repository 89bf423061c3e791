"""NumPy arrays on disk, opened without reading them, and checked before anything trusts their shapes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tokenize import TokenError

import numpy as np

from bgr.errors import DataError
from bgr.utils.atomic_io import writing
from bgr.utils.json_utils import one_line

DAMAGED = (OSError, ValueError, EOFError, SyntaxError, TokenError, MemoryError, OverflowError)
"""What NumPy raises of a file that is no array; of a damaged header it may be an error of Python's own tokenizer."""


def open_array(path: Path, dtype: type[np.generic], shape: tuple[int | None, ...]) -> np.ndarray:
    """A memory-mapped array; opening it takes neither time nor memory, whatever its size.

    Args:
        path: a file that `save_rows` or `numpy.save` wrote.
        dtype: the type it must have.
        shape: the lengths it must have, ``None`` for any.

    Raises:
        DataError: no such file, cut short, no array, or another type or shape.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; build the index again") from None
    except DAMAGED as error:
        raise DataError(f"{path}: damaged or cut short; build the index again ({one_line(error)})") from None
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.ndim == len(shape)
    if (
        not fits
        or not array.flags.c_contiguous
        or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True))
    ):
        wanted = f"{np.dtype(dtype)} [{', '.join('any' if n is None else str(n) for n in shape)}]"
        raise DataError(f"{path}: not an array of {wanted}; build the index again")
    return array


def save_rows(path: Path, blocks: Iterable[np.ndarray], rows: int, dtype: type[np.generic]) -> int:
    """Write ``[rows, d]`` block by block, holding one block at a time.

    Args:
        path: of the new file.
        blocks: ``[n, d]`` each, `rows` rows in sum, at least one block.
        rows: how many there will be.
        dtype: to write them in.

    Returns:
        ``d``.

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
    """Write an array.

    Raises:
        DataError: the file cannot be written.
    """
    with writing(path), path.open("wb") as file:  # by its handle: given a name, NumPy appends .npy to it
        np.save(file, array, allow_pickle=False)
