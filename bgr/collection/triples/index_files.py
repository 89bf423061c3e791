"""A triple index on disk: one ``.npy`` file for each array, and a sheet about what it was built from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bgr.collection.arrays import DAMAGED
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import one_line, shown

VERSION = 1
SHEET = "index.json"

KINDS = {
    "text": "uint8",
    "offsets": "int64",
    "places": "int64",
    "head": "int32",
    "tail": "int32",
    "starts": "int64",
    "members": "int32",
}
"""All arrays but the vectors. These are compared with their hash when an index is opened; vectors, which may be
gigabytes, when `verify_vectors` is asked for it."""


def write_index(folder: str | Path, arrays: Mapping[str, np.ndarray], *, corpus_hash: str, encoder_key: str) -> None:
    """Write the arrays of an index; what is there stays until all is written, and is replaced if it is an index.

    Raises:
        DataError: the folder holds something else, or cannot be written.
    """
    folder = Path(folder)
    ours = (folder / SHEET).is_file()
    if folder.exists() and not ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise DataError(f"{folder}: exists and is no triple index; name another folder")
    sheet: dict[str, Any] = {"version": VERSION, "corpus": corpus_hash, "encoder": encoder_key}
    try:
        with output_folder(folder, overwrite=ours) as work:
            for name, kind in KINDS.items():
                np.save(work / f"{name}.npy", arrays[name].astype(kind, copy=False))
            np.save(work / "vectors.npy", arrays["vectors"])
            sheet |= {"shapes": {name: list(arrays[name].shape) for name in (*KINDS, "vectors")}}
            sheet |= {"kind": arrays["vectors"].dtype.name, "sha256": _hash(work)}
            sheet |= {"vectors_sha256": hash_files(work, ["vectors.npy"])}
            (work / SHEET).write_text(json.dumps(sheet, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or one_line(error)}") from None


def read_index(folder: str | Path, *, corpus_hash: str, encoder_key: str) -> dict[str, np.ndarray]:
    """The arrays of an index, mapped into memory.

    Raises:
        DataError: no index, a damaged one, one of another version, or one of another corpus or encoder.
    """
    folder = Path(folder)
    if not (folder / SHEET).is_file():
        raise DataError(f"{folder}: no triple index there (it lacks {SHEET}); build one first")
    sheet = read_json(folder / SHEET)
    if not isinstance(sheet, dict):
        raise DataError(f"{folder / SHEET}: must hold an object; build the index again")
    if sheet.get("version") != VERSION:
        raise DataError(f"{folder}: a triple index of version {shown(sheet.get('version'))}; build it again")
    for field, wanted in (("corpus", corpus_hash), ("encoder", encoder_key)):
        if sheet.get(field) != wanted:
            raise DataError(
                f"{folder}: the triple index is of another {field} ({shown(sheet.get(field))}, wanted: "
                f"{shown(wanted)}); build it again, or give the {field} that it was built with"
            )
    arrays = {name: _load(folder, name) for name in (*KINDS, "vectors")}
    _check(folder, sheet, arrays)
    return arrays


def verify_vectors(folder: str | Path) -> bool:
    """Read the vectors of an index and compare them with the hash that was taken when they were written.

    Returns:
        False where there is nothing to compare with, as an older version wrote the index.

    Raises:
        DataError: they are damaged, or cannot be read.
    """
    folder = Path(folder)
    sheet = read_json(folder / SHEET)
    wanted = sheet.get("vectors_sha256") if isinstance(sheet, dict) else None
    if wanted is None:
        return False
    try:
        found = hash_files(folder, ["vectors.npy"])
    except OSError as error:
        raise DataError(f"{folder / 'vectors.npy'}: cannot be read: {error.strerror or one_line(error)}") from None
    if found != wanted:
        raise DataError(f"{folder / 'vectors.npy'}: not what was written (damaged or changed); build the index again")
    return True


def _load(folder: Path, name: str) -> np.ndarray:
    file = folder / f"{name}.npy"
    try:
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise DataError(f"{file}: missing or damaged: {one_line(error)}; build the index again") from None
    return np.asarray(mapped)  # slices of a plain view are made ten times as fast as those of a memmap


def _check(folder: Path, sheet: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    kinds = {**KINDS, "vectors": sheet.get("kind") if sheet.get("kind") in ("float16", "float32") else None}
    shapes = sheet.get("shapes")
    for name, array in arrays.items():
        if not isinstance(shapes, dict) or list(array.shape) != shapes.get(name) or array.dtype.name != kinds[name]:
            found = f"{array.dtype.name} {list(array.shape)}"
            raise DataError(f"{folder / name}.npy: holds {found}, {SHEET} says otherwise; build the index again")
    if sheet.get("sha256") != _hash(folder):
        raise DataError(f"{folder}: a file was damaged or changed since it was written; build the index again")


def _hash(folder: Path) -> str:
    return hash_files(folder, [f"{name}.npy" for name in KINDS])
