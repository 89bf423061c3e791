"""Where an encoder's weights come from: a hub id, a folder, or the package that carries them."""

from __future__ import annotations

from pathlib import Path

from bgr.errors import BgrError
from bgr.offline import packaged_minilm

PACKAGED_MINILM = "packaged-minilm"


def resolve_model(name: str) -> str:
    """The folder of ``packaged-minilm`` (hash checked); anything else as it is, for ``from_pretrained``.

    Raises:
        BgrError: a path that does not exist, or the package is missing or altered.
    """
    if name == PACKAGED_MINILM:
        return str(packaged_minilm())
    looks_local = name.startswith((".", "/", "~"))
    if looks_local and not Path(name).expanduser().is_dir():
        raise BgrError(f"encoder {name!r}: no such folder; give a folder, a hub id or {PACKAGED_MINILM!r}")
    return str(Path(name).expanduser()) if looks_local else name
