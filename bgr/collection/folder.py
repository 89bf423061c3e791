"""The folder of a collection: its manifest, the hashes of its files, and how it changes.

One writer at a time puts new files beside the old ones and replaces the manifest last. Only files that the manifest
names count, so an interrupted change leaves the old state.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

from filelock import FileLock, Timeout
from pydantic import Field

from bgr.errors import DataError
from bgr.utils.atomic_io import check_regular, read_json, remove_half_written, replaced, sync_file, sync_folder, writing
from bgr.utils.error_text import did_you_mean_path
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import repr_short
from bgr.utils.settings import STRICT, problems, validated

FORMAT = 3
"""Format of the folder; raised when older versions cannot read it, or split words differently."""

FORMATS = (1, 2, FORMAT)
"""Formats that are read: without hashes of files, without triples, and the present one."""

NAME = "manifest.json"

LOCK = ".lock"

MAX_NAMED = 3
"""Maximum number of damaged files or faults that a message names."""

ENCODED = "encoded"
"""Folder of the vectors that an interrupted run has finished; the next run reads them."""

KEPT = re.compile(r"(extractions|replies)\.db(\.[\w-]+\.worker)?(-journal|-wal|-shm)?")
"""Files of an extraction of triples, which the manifest does not name."""

PIECE = re.compile(r"(segment|deleted|triples)-(\d{6,12})")
"""Folders of passages and of triples, and lists of deleted rows; others are not removed when they are out of date."""

HOPS = re.compile(r"hops-([0-9a-f]{16})-[0-9a-f]{16}")
"""Folders of names and token ids (`bgr.collection.hop_index`): for a hash of the texts, and one of the tokenizer."""

HOPS_LOCK = ".hops.lock"
"""Lock of the process that builds such a folder."""

FILE = re.compile(r"[a-z_]+\.(npy|jsonl|json)")
"""Files in such a folder."""

Count = Annotated[int, Field(ge=0, lt=2**40)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Piece:
    """A file or folder of the collection.

    `passages` counts its passages, or triples; `sha256` has its files' hashes by path, which older versions did not
    write.
    """

    __pydantic_config__ = STRICT

    name: Annotated[str, Field(pattern=rf"^{PIECE.pattern}$")]  # no name leads out of the folder
    passages: Count
    sha256: Mapping[str, Sha256] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The state of a collection.

    Args:
        corpus: hash of the passages that are left, `Corpus.hash`.
        passages: number of passages that are left.
        encoder: key of the encoder of the vectors; ``None`` without vectors.
        dimensions: of the vectors, 0 without vectors.
        half: whether the vectors are float16.
        segments: folders of passages, in order, including deleted passages.
        deleted: file of the deleted rows; ``None`` if nothing is deleted.
        triples: folder of a triple index over rows; ``None`` without triples.
    """

    __pydantic_config__ = STRICT

    corpus: str
    passages: Count
    encoder: str | None
    dimensions: Count
    half: bool
    segments: tuple[Piece, ...]
    deleted: Piece | None = None
    triples: Piece | None = None

    @property
    def rows(self) -> int:
        """Number of passages in all segments, including deleted ones."""
        return sum(piece.passages for piece in self.segments)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All files and folders that the collection consists of."""
        return (*self.segments, *(piece for piece in (self.deleted, self.triples) if piece is not None))

    def write(self, folder: Path) -> None:
        """Replace the state of the folder, so that it survives a power failure; DataError if it cannot be written.

        The names of new pieces are on the disk before the manifest that names them, and this before `tidy` removes the
        pieces that the one before named.
        """
        with writing(folder):
            sync_folder(folder)
            with replaced(folder / NAME, durable=True) as file:
                json.dump({"format": FORMAT, **asdict(self)}, file, indent=2)
            sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """The state of the folder; DataError if it holds no collection, one of another format, or a damaged one."""
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"{folder}: no collection is there (no {NAME}); build it first{did_you_mean_path(folder)}")
    row = read_json(path)
    if not isinstance(row, dict):
        raise _damaged(path, "it holds no object")
    form = row.pop("format", None)
    if form not in FORMATS or isinstance(form, bool):
        known = f"{FORMATS[0]} to {FORMAT}"
        raise DataError(f"{path}: format {repr_short(form)}, this version reads {known}; build the collection again")
    if form != FORMAT:
        row["triples"] = None
    if row.keys() != Manifest.__dataclass_fields__.keys():
        raise _damaged(path, f"it holds {repr_short(sorted(row))}")
    if found := problems(Manifest, row):
        raise _damaged(path, "; ".join(found[:MAX_NAMED]))
    manifest: Manifest = validated(Manifest, row)
    kinds = ["segment"] * len(manifest.segments) + [kind for kind in ("deleted", "triples") if row[kind] is not None]
    for kind, piece in zip(kinds, manifest.pieces, strict=True):
        if not piece.name.startswith(f"{kind}-") or not all(_is_in(piece, file) for file in piece.sha256):
            raise _damaged(path, f"{repr_short(asdict(piece))} is not a piece of kind {kind}")
    if (manifest.encoder is None) != (manifest.dimensions == 0):
        raise _damaged(path, "encoder and dimensions do not fit together")
    deleted = manifest.deleted.passages if manifest.deleted else 0
    if manifest.rows - deleted != manifest.passages:
        raise _damaged(path, f"{manifest.rows} passages less {deleted} deleted are not {manifest.passages}")
    return manifest


def _is_in(piece: Piece, file: str) -> bool:
    return file == piece.name or bool(FILE.fullmatch(file.removeprefix(f"{piece.name}/")))


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: damaged ({what}); build the collection again")


BLOCK = 1 << 20
"""Number of bytes read at a time."""


def hashed(folder: Path, piece: Piece) -> Piece:
    """The piece with the hashes of its files, which are on the disk then and are read again; DataError if that
    fails."""
    path = folder / piece.name
    with writing(path):
        for file in files_of(folder, piece):
            sync_file(folder / file)
        if path.is_dir():
            sync_folder(path)
        return replace(piece, sha256={file: digest(folder / file) for file in files_of(folder, piece)})


def files_of(folder: Path, piece: Piece) -> Iterator[str]:
    """The existing files of a piece, by their paths in the collection's folder."""
    path = folder / piece.name
    if path.is_dir():
        yield from sorted(f"{piece.name}/{file.name}" for file in path.iterdir() if FILE.fullmatch(file.name))
    elif path.is_file():
        yield piece.name


def digest(path: Path, report: Callable[[int], object] = lambda read: None) -> str:
    """SHA-256 of a file; `report` is called with the size of each block."""
    check_regular(path)
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            report(len(block))
    return found.hexdigest()


_HALF = re.compile(rf"\.{re.escape(NAME)}\..*\.half|\.triples-\d+\.bgr-(half|old)-.*")
"""Unfinished files of a writer that was killed."""

_HOPS_HALF = re.compile(rf"\.{HOPS.pattern}\.bgr-(half|old)-.*")
"""Unfinished folders of names and token ids."""


@contextmanager
def changing(folder: Path) -> Iterator[str]:
    """Lock the folder and remove what a killed writer left. Yields a number of six digits that no file has yet.

    Raises:
        DataError: another process is changing the folder, or it cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise DataError(f"{folder}: another process is changing this collection; wait until it ends") from None
    try:
        yield f"{_last_number(folder) + 1:06d}"
    finally:
        lock.release()


def _last_number(folder: Path) -> int:
    """The number of the last change of a folder, which is tidied: that of a killed one is free again, so that its
    repetition writes the same files."""
    before = _numbers(path.name for path in folder.iterdir())
    tidy(folder)
    try:
        named = _numbers(piece.name for piece in read_manifest(folder).pieces)
    except DataError:
        return max(before, default=0) if (folder / NAME).exists() else 0
    # a collection that became empty names no piece
    return max(named or before, default=0)


def _numbers(names: Iterable[str]) -> list[int]:
    return [int(found[2]) for name in names if (found := PIECE.fullmatch(name))]


def tidy(folder: Path) -> None:
    """Remove pieces that the manifest does not name, and names and token ids of other texts; the vectors of an
    interrupted run stay. Where the manifest cannot be read, nothing is known of what it names, and all stays."""
    try:
        manifest = read_manifest(folder)
        names, corpus = {piece.name for piece in manifest.pieces}, manifest.corpus
    except DataError:
        if (folder / NAME).exists():
            return
        names, corpus = set(), ""
    _remove_hops(folder, corpus)
    for path in sorted(folder.iterdir()):
        if _HALF.fullmatch(path.name) or (PIECE.fullmatch(path.name) and path.name not in names):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    remove_half_written(folder / ENCODED)


def hops_key(corpus: str) -> str:
    """The first hash in the name of a folder of names and token ids."""
    return hash_texts(corpus)[:16]


def hop_folders(folder: Path) -> list[Path]:
    """The folders of names and token ids that a collection keeps (`bgr.collection.hop_index`)."""
    return sorted(path for path in folder.iterdir() if HOPS.fullmatch(path.name) and path.is_dir())


def _remove_hops(folder: Path, corpus: str) -> None:
    """Remove names and token ids of other texts, and unfinished ones, unless a process is building some: then the next
    change removes them."""
    key = hops_key(corpus)
    old = [
        path
        for path in folder.iterdir()
        if _HOPS_HALF.fullmatch(path.name) or ((found := HOPS.fullmatch(path.name)) and found[1] != key)
    ]
    if not old:
        return
    with suppress(Timeout, OSError), FileLock(folder / HOPS_LOCK, timeout=0):
        for path in old:
            shutil.rmtree(path, ignore_errors=True)


def check_free(folder: Path, overwrite: bool) -> None:
    """Check that the folder is new, empty, or a collection to overwrite; DataError otherwise."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: not a folder; a collection is one")
    if (folder / NAME).exists():
        if not overwrite:
            raise DataError(f"{folder}: a collection is there already; open it, or build with overwrite to replace it")
        return
    for path in sorted(folder.iterdir()):
        patterns = (PIECE, KEPT, HOPS, _HALF, _HOPS_HALF)
        ours = path.name in (LOCK, HOPS_LOCK, ENCODED) or any(one.fullmatch(path.name) for one in patterns)
        if not ours:
            raise DataError(f"{folder}: not empty ({path.name}), and not a collection; name a new folder")
