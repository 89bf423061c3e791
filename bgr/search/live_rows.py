"""Rows of which some are deleted: what is searched has places without gaps, what is on disk has not."""

from __future__ import annotations

import numpy as np


class LiveRows:
    """Maps places (of what is left, in order) to rows (of all there ever was) and back.

    Args:
        rows: how many there are, deleted ones included.
        deleted: ``int64 [n]``, rising, each below `rows`.
    """

    def __init__(self, rows: int, deleted: np.ndarray | None = None) -> None:
        self.rows = rows
        self.deleted = np.zeros(0, dtype=np.int64) if deleted is None else deleted
        self._before = self.deleted - np.arange(len(self.deleted))  # places before each deleted row

    def __len__(self) -> int:
        return self.rows - len(self.deleted)

    def place_of(self, rows: np.ndarray) -> np.ndarray:
        """The places of rows that are not deleted, ``int64``, any shape."""
        return rows - np.searchsorted(self.deleted, rows)

    def row_of(self, places: np.ndarray) -> np.ndarray:
        """The rows of places, ``int64``, any shape."""
        return places + np.searchsorted(self._before, places, side="right")

    def live(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row is not deleted, ``bool``, any shape."""
        if not len(self.deleted):
            return np.ones(rows.shape, dtype=bool)
        at = np.minimum(np.searchsorted(self.deleted, rows), len(self.deleted) - 1)
        return self.deleted[at] != rows

    def mask(self) -> np.ndarray:
        """``bool [rows]``, false where deleted."""
        mask = np.ones(self.rows, dtype=bool)
        mask[self.deleted] = False
        return mask
