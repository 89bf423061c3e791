"""Half-precision rows in single precision: every number there is, from memory and from a file mapped for reading."""

from __future__ import annotations

import numpy as np
import pytest

from bgr.collection.vectors import widened

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(-1, 64)  # infinities and what is no number too


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_every_half_precision_number(tmp_path, mode):
    np.save(tmp_path / "rows.npy", EVERY)
    rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    space = np.zeros((2000, 64), dtype=np.float32)
    found = widened(rows, space)
    assert found.base is space
    assert np.array_equal(found, EVERY.astype(np.float32), equal_nan=True)
    assert not space[1024:].any()


def test_rows_from_the_middle_and_none():
    space = np.empty((50, 64), dtype=np.float32)
    assert np.array_equal(widened(EVERY[300:340], space), EVERY[300:340].astype(np.float32))
    assert widened(EVERY[:0], space).shape == (0, 64)
