"""Settings that are out of range, said in one line before anything is done."""

from __future__ import annotations

import math


def at_least(least: float, **settings: float) -> None:
    """Each setting is a number of `least` or more.

    Raises:
        ValueError: one is not.
    """
    for name, value in settings.items():
        if not least <= value < math.inf:
            raise ValueError(f"{name} is {value}, allowed: {least} or more")


def share(**settings: float) -> None:
    """Each setting is a number from 0 to 1.

    Raises:
        ValueError: one is not.
    """
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}, allowed: 0 to 1")
