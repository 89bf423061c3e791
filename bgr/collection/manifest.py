"""Hashes of an index folder's files, taken when they are written.

What an index folder says of itself; the file decides which of the folder's other files count.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.utils.atomic_io import read_json, replaced, writing
from bgr.utils.json_utils import is_text, shown

FORMAT = 2
"""Of the folder; raised when older versions could not read it, or would split words otherwise."""

WITHOUT_HASHES = 1
"""The format before files had hashes, which is read too."""

NAME = "manifest.json"

PIECE = re.compile(r"(segment|deleted)-(\d{6,12})")
"""Folders of passages, and lists of deleted rows: nothing else in the folder is ours to remove."""

FILE = re.compile(r"[a-z_]+\.(npy|jsonl)")
"""Files in a folder of passages."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Piece:
    """A file or folder of the index, how many passages it is about, and the SHA-256 of its files by their path in the
    index, none where an older version wrote it."""

    name: str
    passages: int
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The state of an index.

    Args:
        corpus: hash of the passages that are left, `Corpus.hash`.
        passages: how many are left.
        encoder: key of what made the vectors; ``None`` where there are none.
        dimensions: of the vectors, 0 where there are none.
        half: whether they are float16.
        segments: folders of passages, in order; deleted passages are counted in them.
        deleted: file of the deleted rows; ``None`` where nothing is deleted.
    """

    corpus: str
    passages: int
    encoder: str | None
    dimensions: int
    half: bool
    segments: tuple[Piece, ...]
    deleted: Piece | None = None

    @property
    def rows(self) -> int:
        """Passages in all segments, deleted ones included."""
        return sum(piece.passages for piece in self.segments)

    @property
    def names(self) -> set[str]:
        """Everything in the folder that the index consists of."""
        return {piece.name for piece in (*self.segments, *([self.deleted] if self.deleted else []))}

    def write(self, folder: Path) -> None:
        """Put this state in place of the folder's last one.

        Raises:
            DataError: the folder cannot be written.
        """
        with replaced(folder / NAME) as file:
            json.dump({"format": FORMAT, **asdict(self)}, file, indent=2)


def read_manifest(folder: Path) -> Manifest:
    """The state of an index folder.

    Raises:
        DataError: no index, of another format, or damaged.
    """
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"{folder}: no index is there (no {NAME}); build it first")
    row = read_json(path)
    if not isinstance(row, dict):
        raise _damaged(path, "no object")
    form = row.get("format")
    if form not in (WITHOUT_HASHES, FORMAT):
        known = f"{WITHOUT_HASHES} and {FORMAT}"
        raise DataError(f"{path}: format {shown(form)}, this version reads {known}; build the index again")
    row = {key: value for key, value in row.items() if key != "format"}
    if row.keys() != Manifest.__dataclass_fields__.keys():
        raise _damaged(path, f"it holds {shown(sorted(row))}")
    return _checked(path, row)


def _checked(path: Path, row: dict[str, Any]) -> Manifest:
    if not isinstance(row["segments"], list):
        raise _damaged(path, f"segments is {shown(row['segments'])}")
    row["segments"] = tuple(_piece(path, piece, "segment") for piece in row["segments"])
    if row["deleted"] is not None:
        row["deleted"] = _piece(path, row["deleted"], "deleted")
    manifest = Manifest(**row)
    for key in ("passages", "dimensions"):
        if not _is_count(row[key]):
            raise _damaged(path, f"{key} is {shown(row[key])}")
    if not is_text(manifest.corpus) or not (manifest.encoder is None or is_text(manifest.encoder)):
        raise _damaged(path, "corpus and encoder must be texts")
    if not isinstance(manifest.half, bool) or (manifest.encoder is None) != (manifest.dimensions == 0):
        raise _damaged(path, "encoder, dimensions and half do not fit together")
    gone = manifest.deleted.passages if manifest.deleted else 0
    if manifest.rows - gone != manifest.passages:
        raise _damaged(path, f"{manifest.rows} passages less {gone} deleted are not {manifest.passages}")
    return manifest


def _piece(path: Path, value: Any, kind: str) -> Piece:
    value = {"sha256": {}, **value} if isinstance(value, dict) else {}
    fits = value.keys() == Piece.__dataclass_fields__.keys() and isinstance(value["name"], str)
    found = PIECE.fullmatch(value["name"]) if fits else None
    if not found or found[1] != kind or not _is_count(value["passages"]):  # so that no name leads out of the folder
        raise _damaged(path, f"{shown(value)} is no {kind}")
    if not _are_hashes(value["name"], value["sha256"]):
        raise _damaged(path, f"sha256 of {value['name']} is {shown(value['sha256'])}")
    return Piece(**value)


def _are_hashes(name: str, value: Any) -> bool:
    """Whether these are hashes of the files of a piece; again, none outside it."""
    return isinstance(value, dict) and all(
        isinstance(digest, str)
        and _SHA256.fullmatch(digest)
        and (file == name or (file.startswith(name) and FILE.fullmatch(file.removeprefix(f"{name}/"))))
        for file, digest in value.items()
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: damaged ({what}); build the index again")


BLOCK = 1 << 20
"""Bytes read at a time."""


def hashed(folder: Path, piece: Piece) -> Piece:
    """The piece with the hashes of its files, which are all written; they are read once more.

    Raises:
        DataError: a file cannot be read.
    """
    with writing(folder / piece.name):
        return replace(piece, sha256={file: digest(folder / file) for file in files_of(folder, piece)})


def files_of(folder: Path, piece: Piece) -> Iterator[str]:
    """The files of a piece that are there, by their path in the index' folder."""
    path = folder / piece.name
    if path.is_dir():
        yield from sorted(f"{piece.name}/{file.name}" for file in path.iterdir() if FILE.fullmatch(file.name))
    elif path.is_file():
        yield piece.name


def digest(path: Path, told: Callable[[int], object] = lambda read: None) -> str:
    """SHA-256 of a file; `told` hears of every block that was read, in bytes."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            told(len(block))
    return found.hexdigest()
