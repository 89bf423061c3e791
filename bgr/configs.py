"""Shipped configurations are found by name, from a checkout and from an installed wheel alike."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from bgr.errors import BgrError


def find_config(name: str) -> Path:
    """The file `name`, or the shipped configuration of that name (``demo``, ``demo.yaml`` or ``configs/demo.yaml``).

    Raises:
        BgrError: there is neither; the message lists the shipped ones.
    """
    path = Path(name)
    if path.is_file():
        return path
    folder = Path(str(files("configs")))
    shipped = folder / f"{path.stem}.yaml"
    if shipped.is_file() and str(path.parent) in (".", "configs"):
        return shipped
    known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
    raise BgrError(f"{name}: no such config; give a file or one of: {known}")
