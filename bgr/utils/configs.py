"""Shipped configurations by name, from a checkout or an installed wheel, and settings that override them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from bgr.errors import BgrError
from bgr.utils.suggest import did_you_mean, did_you_mean_path


def shipped_configs() -> list[str]:
    """Names of the shipped configurations, sorted."""
    return sorted(path.stem for path in Path(str(files("configs"))).glob("*.yaml"))


def find_config(name: str) -> Path:
    """The file `name`, or the shipped configuration ``demo``, ``demo.yaml`` or ``configs/demo.yaml``; else BgrError."""
    path = Path(name)
    if path.is_file():
        return path
    folder = Path(str(files("configs")))
    shipped = folder / f"{path.stem}.yaml"
    if shipped.is_file() and str(path.parent) in (".", "configs"):
        return shipped
    known = shipped_configs()
    raise BgrError(f"{name}: no such config; give a file or one of: {', '.join(known)}{_hint(path, known)}")


def _hint(path: Path, known: Sequence[str]) -> str:
    if path.suffix or path.parent != Path():
        return did_you_mean_path(path)
    # baselines' configs are also looked for by the name of the baseline alone
    return did_you_mean(path.name, known) or did_you_mean(f"baseline-{path.name}", known)


def overrides(words: Sequence[str]) -> list[str]:
    """Return the settings of the command line; BgrError if a word is not of the form ``--section.key=value``."""
    unknown = [word for word in words if not word.startswith("--") or "=" not in word]
    if unknown:
        raise BgrError(f"unknown argument {unknown[0]!r}; settings are given as --trainer.max_epochs=3")
    return list(words)
