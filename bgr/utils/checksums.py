"""SHA-256 of the files of a folder, in a file ``SHA256SUMS`` as `sha256sum` writes and checks it.

Every folder that a command writes has one (a collection has its hashes in its manifest). Files are compared with it
when they are loaded, since weights with flipped bits give other answers without an error. Folders without the file, as
older versions wrote them, are loaded unchecked.
"""

from __future__ import annotations

import re
from pathlib import Path

from bgr.errors import CheckpointError
from bgr.utils.atomic_io import SUMS, write_sums
from bgr.utils.hashing import hash_file

__all__ = [
    "ROOTS",
    "SUMS",
    "changed_files",
    "check_file",
    "check_folder",
    "check_tree",
    "first_damage",
    "read_sums",
    "remove_sums",
    "write_sums",
]

ROOTS = ("bgr.json", "reader.json", "baseline.json")
"""The settings of a retriever, a reader or a baseline, one of which is in its folder."""

_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def remove_sums(folder: Path) -> None:
    """Remove the hashes of a folder whose files are about to change."""
    (folder / SUMS).unlink(missing_ok=True)


def check_file(path: Path) -> None:
    """Compare a file with the hash that its folder, or the folder above, has of it; without one nothing is compared.

    Raises:
        CheckpointError: the file is not as it was written.
    """
    # the folder above may be the user's own, with hashes of other things
    for folder in (path.parent, *filter(_is_root, [path.parent.parent])):
        expected = read_sums(folder).get(path.relative_to(folder).as_posix())
        if expected is not None and expected != _hash(path):
            raise CheckpointError(_changed(folder, path))


def check_folder(folder: Path) -> None:
    """`check_file` for every file directly in the folder.

    Raises:
        CheckpointError: a file is not as it was written, or is a pipe, a device or a broken link.
    """
    for path in sorted(folder.iterdir()):
        if path.is_file():
            check_file(path)
        elif not path.is_dir():
            raise CheckpointError(f"{path}: not a regular file")  # reading a pipe or a device may never end


def check_tree(folder: Path) -> None:
    """Compare all files of a folder, also those in its parts, before they are copied to one with hashes of its own.
    Without hashes nothing is compared.

    Raises:
        CheckpointError: a file is missing or not as it was written.
    """
    if problem := first_damage(folder):
        raise CheckpointError(problem)


def first_damage(folder: Path) -> str:
    """The first line of `changed_files`; empty if there is none, or the folder has no hashes."""
    return next(iter(changed_files(folder)), "") if read_sums(folder) else ""


def changed_files(folder: Path) -> list[str]:
    """One line for each file of a folder with hashes that is missing or is not as it was written.

    Raises:
        CheckpointError: the folder has no hashes, or they are not valid.
    """
    sums = read_sums(folder)
    if not sums:
        raise CheckpointError(f"{folder}: has no {SUMS} to compare with; `bgr verify {folder} --write` makes one")
    return [
        _changed(folder, folder / name) if (folder / name).is_file() else f"{folder / name}: no such file"
        for name, expected in sums.items()
        if _hash(folder / name) != expected
    ]


def read_sums(folder: Path) -> dict[str, str]:
    """The hashes by file; empty if there are none.

    Raises:
        CheckpointError: they cannot be read or are not valid.
    """
    path = folder / SUMS
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path}: cannot be read: {error}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        parts = _LINE.fullmatch(line)
        if parts is None or parts[2] in found or Path(parts[2]).is_absolute() or ".." in Path(parts[2]).parts:
            raise CheckpointError(f"{path}, line {number}: not a hash and the name of a file of the folder")
        found[parts[2]] = parts[1]
    return found


def _is_root(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ROOTS)


def _hash(path: Path) -> str:
    try:
        return hash_file(path) if path.is_file() else ""
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None


def _changed(folder: Path, path: Path) -> str:
    return (
        f"{path}: is damaged or was changed: its SHA-256 is not that in {folder / SUMS}; copy the folder again, or, if "
        f"you changed the file, accept it with `bgr verify {folder} --write`"
    )
