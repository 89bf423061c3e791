"""What the commands that draw a graph share: the check of the file's name, before any work is done."""

from __future__ import annotations

from pathlib import Path

from bgr.errors import DataError

ENDINGS = (".png", ".html")


def check_drawing(path: Path, *, overwrite: bool) -> None:
    """Whether a graph can be drawn to `path`.

    Raises:
        DataError: an ending that cannot be drawn, a file that exists and may not be replaced, or no such folder.
    """
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"{path}: unknown kind of drawing {path.suffix!r}, allowed: {', '.join(ENDINGS)}")
    if path.is_dir():
        raise DataError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent}: no such folder")
