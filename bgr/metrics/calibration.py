"""Expected calibration error: how far predicted chances are from what happens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def expected_calibration_error(chances: ArrayLike, happened: ArrayLike | Sequence[bool], *, bins: int = 10) -> float:
    """``Σ_b n_b / n · |mean chance in b - share that happened in b|`` over bins of equal width (Guo et al., 2017).

    In [0, 1], lower is better, 0 for no prediction at all.

    Args:
        chances: probabilities in [0, 1]; a chance of 1 falls into the last bin.
        happened: for each whether it did.
        bins: of equal width.

    Raises:
        ValueError: different lengths, or a chance out of its range.
    """
    predicted, true = np.asarray(chances, dtype=float), np.asarray(happened, dtype=float)
    if predicted.shape != true.shape:
        raise ValueError(f"{predicted.size} chances for {true.size} events")
    if not predicted.size:
        return 0.0
    if not ((predicted >= 0) & (predicted <= 1)).all():
        raise ValueError("a chance is out of its range, allowed: 0 to 1")
    bin_of = np.minimum((predicted * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=predicted - true, minlength=bins)
    return float(np.abs(gaps).sum() / predicted.size)
