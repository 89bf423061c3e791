"""Half-precision rows in single precision, also of arrays that are mapped for reading alone."""

from __future__ import annotations

import numpy as np
import torch


def widened(rows: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Rows as float32, in the beginning of `space`; PyTorch converts in hardware, eight times as fast as NumPy.

    *Shape:* ``float16 [n, d]``, ``float32 [n or more, d]`` -> ``float32 [n, d]``.
    """
    torch.from_numpy(space[: len(rows)]).copy_(torch.from_numpy(np.asarray(_Lent(rows))))
    return space[: len(rows)]


class _Lent:
    """An array as if it could be written to, which nothing here does: PyTorch warns of one that cannot.

    Mapping files copy-on-write would quiet it too, but the system refuses that for a file larger than the memory.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows  # keeps its memory
        self.__array_interface__ = {**rows.__array_interface__, "data": (rows.ctypes.data, False)}
