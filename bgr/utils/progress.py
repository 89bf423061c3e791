"""Progress bars on standard error."""

from __future__ import annotations

import sys

from tqdm import tqdm


def progress_bar(total: int, title: str, unit: str, *, show: bool = True) -> tqdm:
    """A bar that shows time left. In a file, which keeps every state of it, it is written every 30 seconds."""
    return tqdm(total=total, desc=title, unit=unit, disable=not show, mininterval=0.1 if sys.stderr.isatty() else 30)
