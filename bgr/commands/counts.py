"""Numbers on the command line that count something."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """An integer of 1 or more, for `argparse`."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: allowed: 1 or more")
    return number
