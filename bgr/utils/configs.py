"""Shipped configurations by name, from a checkout or an installed wheel, and settings that override them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bgr.errors import BgrError


def find_config(name: str) -> Path:
    """The file `name`, or the shipped configuration ``demo``, ``demo.yaml`` or ``configs/demo.yaml``; else BgrError."""
    path = Path(name)
    if path.is_file():
        return path
    folder = Path(str(files("configs")))
    shipped = folder / f"{path.stem}.yaml"
    if shipped.is_file() and str(path.parent) in (".", "configs"):
        return shipped
    known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
    raise BgrError(f"{name}: no such config; give a file or one of: {known}")


def overrides(words: Sequence[str]) -> list[str]:
    """Return the settings of the command line; BgrError if a word is not of the form ``--section.key=value``."""
    unknown = [word for word in words if not word.startswith("--") or "=" not in word]
    if unknown:
        raise BgrError(f"unknown argument {unknown[0]!r}; settings are given as --trainer.max_epochs=3")
    return list(words)
