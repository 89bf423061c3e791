"""The folder of a collection: its manifest, the hashes of its files, and how it changes.

One writer at a time puts new files beside the old and replaces the manifest last; the manifest decides which of the
folder's other files count. So whatever interrupts a change leaves the old state.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm import tqdm

from bgr.errors import DataError
from bgr.utils.atomic_io import read_json, replaced, writing
from bgr.utils.json_utils import is_text, shown

FORMAT = 3
"""Of the folder; raised when older versions could not read it, or would split words in another way."""

FORMATS = (1, 2, FORMAT)
"""Those that are read: before files had hashes, before there were triples, now."""

NAME = "manifest.json"

LOCK = ".lock"

ENCODED = "encoded"
"""Folder, in that of the collection, of the vectors that an interrupted run had finished; the next run reads them."""

KEPT = re.compile(r"(extractions|replies)\.db(-journal|-wal|-shm)?")
"""Files of an extraction of triples, which stay beside what the manifest names."""

PIECE = re.compile(r"(segment|deleted|triples)-(\d{6,12})")
"""Folders of passages and of triples, and lists of deleted rows: only these are removed when they are out of date."""

FILE = re.compile(r"[a-z_]+\.(npy|jsonl|json)")
"""Files in such a folder."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Piece:
    """A file or folder of the collection.

    Args:
        name: in the folder of the collection.
        passages: how many it is about; of triples, how many triples.
        sha256: of its files by their path in the collection; none where an older version wrote it.
    """

    name: str
    passages: int
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """The state of a collection.

    Args:
        corpus: hash of the passages that are left, `Corpus.hash`.
        passages: their number.
        encoder: key of the encoder of the vectors; ``None`` without vectors.
        dimensions: of the vectors, 0 where there are none.
        half: whether they are float16.
        segments: folders of passages, in order; deleted passages are counted in them.
        deleted: file of the deleted rows; ``None`` where nothing is deleted.
        triples: folder of a triple index over rows; ``None`` without triples.
    """

    corpus: str
    passages: int
    encoder: str | None
    dimensions: int
    half: bool
    segments: tuple[Piece, ...]
    deleted: Piece | None = None
    triples: Piece | None = None

    @property
    def rows(self) -> int:
        """Passages in all segments, deleted ones included."""
        return sum(piece.passages for piece in self.segments)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All files and folders that the collection consists of."""
        return (*self.segments, *(piece for piece in (self.deleted, self.triples) if piece is not None))

    def write(self, folder: Path) -> None:
        """Put this state in place of the folder's last one.

        Raises:
            DataError: the folder cannot be written.
        """
        with replaced(folder / NAME) as file:
            json.dump({"format": FORMAT, **asdict(self)}, file, indent=2)


def read_manifest(folder: Path) -> Manifest:
    """The state of a collection's folder.

    Raises:
        DataError: no collection, of another format, or damaged.
    """
    path = folder / NAME
    if not path.is_file():
        raise DataError(f"{folder}: no collection is there (no {NAME}); build it first")
    row = read_json(path)
    if not isinstance(row, dict):
        raise _damaged(path, "it holds no object")
    form = row.get("format")
    if form not in FORMATS or isinstance(form, bool):
        known = f"{FORMATS[0]} to {FORMAT}"
        raise DataError(f"{path}: format {shown(form)}, this version reads {known}; build the collection again")
    row = {key: value for key, value in row.items() if key != "format"}
    if form != FORMAT:
        row = {**row, "triples": None}
    if row.keys() != Manifest.__dataclass_fields__.keys():
        raise _damaged(path, f"it holds {shown(sorted(row))}")
    return _checked(path, row)


def _checked(path: Path, row: dict[str, Any]) -> Manifest:
    if not isinstance(row["segments"], list):
        raise _damaged(path, f"segments is {shown(row['segments'])}")
    row["segments"] = tuple(_piece(path, piece, "segment") for piece in row["segments"])
    for kind in ("deleted", "triples"):
        if row[kind] is not None:
            row[kind] = _piece(path, row[kind], kind)
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
    if not found or found[1] != kind or not _is_count(value["passages"]):  # no name may lead out of the folder
        raise _damaged(path, f"{shown(value)} is not a piece of kind {kind}")
    if not _are_hashes(value["name"], value["sha256"]):
        raise _damaged(path, f"sha256 of {value['name']} is {shown(value['sha256'])}")
    return Piece(**value)


def _are_hashes(name: str, value: Any) -> bool:
    """True if these are hashes of files of a piece, none of them outside it."""
    return isinstance(value, dict) and all(
        isinstance(digest, str)
        and _SHA256.fullmatch(digest)
        and (file == name or (file.startswith(name) and FILE.fullmatch(file.removeprefix(f"{name}/"))))
        for file, digest in value.items()
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: damaged ({what}); build the collection again")


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
    """The files of a piece that exist, by their path in the collection's folder."""
    path = folder / piece.name
    if path.is_dir():
        yield from sorted(f"{piece.name}/{file.name}" for file in path.iterdir() if FILE.fullmatch(file.name))
    elif path.is_file():
        yield piece.name


def digest(path: Path, report: Callable[[int], object] = lambda read: None) -> str:
    """SHA-256 of a file; `report` is called with the size of every block that was read."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
            report(len(block))
    return found.hexdigest()


MAX_NAMED = 3
"""Damaged files that a message names."""


@dataclass(frozen=True)
class Verified:
    """The files that were compared, their size in bytes, and files without a hash, which an older version wrote."""

    files: int
    bytes: int
    unhashed: tuple[str, ...]


def verify_files(folder: Path, manifest: Manifest, *, progress: bool = False) -> Verified:
    """Read every file of a collection and compare it with its hash.

    Raises:
        DataError: files are missing or hold something else; the message names them.
    """
    pieces = manifest.pieces
    wanted = {file: sha256 for piece in pieces for file, sha256 in piece.sha256.items()}
    try:
        sizes = {file: (folder / file).stat().st_size for piece in pieces for file in files_of(folder, piece)}
        bar = tqdm(total=sum(sizes.values()), desc="verify", unit="B", unit_scale=True, disable=not progress, delay=1)
        with bar:
            found = {file: digest(folder / file, bar.update) for file in sizes}
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror or error}") from None
    bad = [file for file, sha256 in wanted.items() if found.get(file) != sha256]
    if bad:
        more = f" and {len(bad) - MAX_NAMED} more" if len(bad) > MAX_NAMED else ""
        names = ", ".join(bad[:MAX_NAMED])
        raise DataError(
            f"{folder}: {names}{more}: not what was written (damaged or changed); build the collection again"
        )
    return Verified(len(wanted), sum(sizes[file] for file in wanted), tuple(sorted(sizes.keys() - wanted.keys())))


_HALF = re.compile(rf"\.{re.escape(NAME)}\..*\.half|\.triples-\d+\.bgr-(half|old)-.*")
"""Files that a killed writer had not finished."""


@contextmanager
def changing(folder: Path) -> Iterator[str]:
    """Lock the folder and remove what a killed writer left; gives a number of six digits that no file in it has.

    Raises:
        DataError: another process is changing it, or it cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise DataError(f"{folder}: another process is changing this collection; wait until it ends") from None
    try:
        numbers = [int(found[2]) for file in folder.iterdir() if (found := PIECE.fullmatch(file.name))]
        tidy(folder)
        yield f"{max(numbers, default=0) + 1:06d}"
    finally:
        lock.release()


def tidy(folder: Path) -> None:
    """Remove pieces that the manifest does not name; vectors of an interrupted run stay."""
    try:
        names = {piece.name for piece in read_manifest(folder).pieces}
    except DataError:
        names = set()
    for path in sorted(folder.iterdir()):
        if _HALF.fullmatch(path.name) or (PIECE.fullmatch(path.name) and path.name not in names):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def check_free(folder: Path, overwrite: bool) -> None:
    """Refuse to build over a collection, unless that is wanted, and over anything else in any case.

    Raises:
        DataError: the folder is taken.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: not a folder; a collection is one")
    if (folder / NAME).exists():
        if not overwrite:
            raise DataError(f"{folder}: a collection is there already; open it, or build with overwrite to replace it")
        return
    for path in sorted(folder.iterdir()):
        ours = path.name in (LOCK, ENCODED) or any(one.fullmatch(path.name) for one in (PIECE, KEPT, _HALF))
        if not ours:
            raise DataError(f"{folder}: not empty ({path.name}), and not a collection; name a new folder")
