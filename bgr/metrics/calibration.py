"""Expected calibration error: the gap between predicted probabilities and observed frequencies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def expected_calibration_error(
    probabilities: ArrayLike, happened: ArrayLike | Sequence[bool], *, bins: int = 10
) -> float:
    """``Σ_b n_b / n · |mean probability in b - observed frequency in b|`` over bins of equal width (Guo et al., 2017).

    The value lies in [0, 1]; lower is better. It is 0 if there are no predictions. A probability of 1 falls into the
    last bin; `happened` is true for each event that happened.

    Raises:
        ValueError: the lengths differ, or a probability is out of range.
    """
    predicted, true = np.asarray(probabilities, dtype=float), np.asarray(happened, dtype=float)
    if predicted.shape != true.shape:
        raise ValueError(f"{predicted.size} probabilities for {true.size} events")
    if not predicted.size:
        return 0.0
    if not ((predicted >= 0) & (predicted <= 1)).all():
        raise ValueError("a probability is out of range, allowed: 0 to 1")
    bin_of = np.minimum((predicted * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, weights=predicted - true, minlength=bins)
    return float(np.abs(gaps).sum() / predicted.size)
