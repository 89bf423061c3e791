"""Numbers on the command line."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> int:
    """An integer of 1 or more, for `argparse`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 1 or more")
    return number


def natural(text: str) -> int:
    """An integer of 0 or more, for `argparse`."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 0 or more")
    return number


def amount(text: str) -> float:
    """A number of 0 or more, for `argparse`."""
    number = float(text)
    if not (number >= 0 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"{text}: allowed: a number from 0")
    return number
