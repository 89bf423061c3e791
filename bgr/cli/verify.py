"""`bgr verify`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bgr.cli.parser import Command, Output
from bgr.errors import BgrError
from bgr.utils.options import Folder, Options, positional

MAX_DEPTH = 4
"""Number of levels below a folder in which written folders are looked for."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """Options of `bgr verify`.

    Args:
        folder: what a command wrote, or a folder that holds such folders.
        write: accept the files as they are, and write their hashes.
    """

    folder: Folder = positional(metavar="DIR")
    write: bool = False


def command() -> Command:
    return Command(
        summary="compare the files of any written folder with their hashes",
        description="""Datasets, checkpoints, readers, baselines, evaluations, comparisons and all other folders have
            their hashes in SHA256SUMS, which `sha256sum --check` reads too; those of a collection are in its manifest.
            Checkpoints, datasets, evaluations and collections are also compared when they are loaded. The exit code is
            1 if a file is damaged.""",
        options=VerifyOptions,
        run=run,
        example="""bgr verify work/checkpoint
            bgr verify work""",
    )


def run(options: VerifyOptions) -> Output:
    from bgr.utils.checksums import ROOTS, SUMS, read_sums, write_sums

    folder = options.folder
    if not folder.is_dir():
        raise BgrError(f"{folder}: not a folder")
    if options.write:
        if (folder / "manifest.json").exists():
            raise BgrError(f"{folder}: a collection writes its own hashes: leave out --write")
        if not any((folder / name).is_file() for name in (SUMS, "dataset.json", *ROOTS)):
            raise BgrError(f"{folder}: neither a checkpoint nor a reader nor a baseline nor a dataset")
        count = write_sums(folder)
        return Output(f"{folder / SUMS}: {count} files", {"folder": str(folder), "files": count, "problems": []})
    if (folder / "manifest.json").exists():
        return _collection(folder)
    if _is_written(folder) or not (inner := _written_within(folder)):
        problems = _problems(folder)
        data = {"folder": str(folder), "files": len(read_sums(folder)), "problems": problems}
        if problems:
            error = BgrError(f"{folder}: {len(problems)} of {data['files']} files are damaged or were changed")
            return Output("\n".join(problems), data, error)
        return Output(f"{folder}: {data['files'] or 'all'} files are as they were written", data)
    problems = [problem for one in inner for problem in _problems_or_error(one)]
    data = {"folder": str(folder), "folders": len(inner), "problems": problems}
    text = "\n".join(problems or [f"{folder}: the files of {len(inner)} folders are as they were written"])
    return Output(text, data, BgrError(f"{folder}: {len(problems)} problems") if problems else None)


def _collection(folder: Path) -> Output:
    from bgr.cli.collection import verify_collection
    from bgr.collection.options import VerifyOptions as CollectionOptions

    return verify_collection(CollectionOptions(folder=folder))


def _is_written(folder: Path) -> bool:
    from bgr.utils.checksums import SUMS

    return any((folder / name).is_file() for name in (SUMS, "manifest.json", "dataset.json"))


def _written_within(folder: Path, depth: int = MAX_DEPTH) -> list[Path]:
    """The folders below one that a command wrote, without their parts."""
    found: list[Path] = []
    for one in sorted(folder.iterdir()) if depth else ():
        if one.is_dir() and not one.is_symlink() and not one.name.startswith("."):
            found += [one] if _is_written(one) else _written_within(one, depth - 1)
    return found


def _problems(folder: Path) -> list[str]:
    """One line for each damaged file of a folder.

    Raises:
        BgrError: it has no hashes, or they are not valid, or a collection or an older dataset is damaged.
    """
    from bgr.data.reasongraphqa.io.dataset import check_unchanged
    from bgr.utils.checksums import SUMS, changed_files

    if (folder / "manifest.json").is_file():
        _collection(folder)
    elif (folder / "dataset.json").is_file() and not (folder / SUMS).is_file():
        check_unchanged(folder)  # written before other files had hashes
    else:
        return changed_files(folder)
    return []


def _problems_or_error(folder: Path) -> list[str]:
    try:
        return _problems(folder)
    except BgrError as error:
        return [str(error)]
