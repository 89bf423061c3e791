"""`bgr llm pack` and `bgr llm unpack`: between a replay cache and a packed file."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.errors import BgrError, DataError
from bgr.llm.packed import read_packed, write_packed
from bgr.llm.replay import Replay
from bgr.utils.atomic_io import new_file
from bgr.utils.options import File, Options, OutFile, positional


@dataclass(frozen=True, kw_only=True)
class PackOptions(Options):
    """Options of `bgr llm pack` and `bgr llm unpack`.

    Args:
        source: file to read.
        out: file to write.
        overwrite: replace the file if it exists.
    """

    source: File = positional()
    out: OutFile
    overwrite: bool = False


def pack(options: PackOptions) -> int:
    """Pack a replay cache; returns the number of replies.

    Raises:
        BgrError: the file exists.
        DataError: the cache cannot be read, a reply in it is damaged, or the file cannot be written.
    """
    _check_free(options)
    if not options.source.is_file():
        raise DataError(f"{options.source}: no such file; allowed: a replay cache")
    with Replay(options.source, replay_only=True) as replay:
        rows = list(replay.rows())
    write_packed(options.out, rows)
    return len(rows)


def unpack(options: PackOptions) -> int:
    """Write the replay cache of a packed file, to which more replies can be added; returns their number.

    Raises:
        BgrError: the cache exists.
        DataError: the file is damaged, or the cache cannot be written.
    """
    _check_free(options)
    rows = list(read_packed(options.source))
    with new_file(options.out, parents=True) as part, Replay(part) as replay:
        replay.add(rows)
    return len(rows)


def _check_free(options: PackOptions) -> None:
    if options.out.exists() and not options.overwrite:
        raise BgrError(f"{options.out}: exists already; give --overwrite to replace it")
