"""`bgr verify`."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.cli.parser import Command, Output
from bgr.errors import BgrError
from bgr.utils.options import Folder, Options, positional


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Options):
    """Options of `bgr verify`.

    Args:
        folder: a checkpoint, a reader, a trained baseline, or a collection.
        write: accept the files of a checkpoint as they are, and write their hashes.
    """

    folder: Folder = positional(metavar="DIR")
    write: bool = False


def command() -> Command:
    return Command(
        summary="compare the files of a checkpoint or collection with their hashes",
        description="""The hashes of a checkpoint are in SHA256SUMS, which `sha256sum --check` reads too; they are also
            compared when the checkpoint is loaded. The exit code is 1 if a file is damaged.""",
        options=VerifyOptions,
        run=run,
        example="bgr verify work/checkpoint",
    )


def run(options: VerifyOptions) -> Output:
    from bgr.utils.checksums import ROOTS, SUMS, changed_files, read_sums, write_sums

    folder = options.folder
    if not folder.is_dir():
        raise BgrError(f"{folder}: not a folder")
    if (folder / "manifest.json").exists():
        return _collection(options)
    if options.write:
        if not any((folder / name).is_file() for name in ROOTS):
            raise BgrError(f"{folder}: neither a checkpoint nor a reader nor a baseline")
        count = write_sums(folder)
        return Output(f"{folder / SUMS}: {count} files", {"folder": str(folder), "files": count, "problems": []})
    problems = changed_files(folder)
    data = {"folder": str(folder), "files": len(read_sums(folder)), "problems": problems}
    if problems:
        error = BgrError(f"{folder}: {len(problems)} of {data['files']} files are damaged or were changed")
        return Output("\n".join(problems), data, error)
    return Output(f"{folder}: {data['files']} files are as they were written", data)


def _collection(options: VerifyOptions) -> Output:
    from bgr.cli.collection import verify_collection
    from bgr.collection.options import VerifyOptions as CollectionOptions

    if options.write:
        raise BgrError(f"{options.folder}: a collection writes its own hashes: leave out --write")
    return verify_collection(CollectionOptions(folder=options.folder))
