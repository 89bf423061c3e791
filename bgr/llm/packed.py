"""Packed replies: a replay cache as compressed JSON lines, small enough to be kept beside the results that it gives.

The file is XZ (`lzma`). Its first line has the format, the number of replies and the SHA-256 of all lines that follow;
each of these is one reply, in the order of the keys. Equal replies give equal lines, whatever order they came in.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.errors import BgrError, DataError
from bgr.llm.replay import COLUMNS, Replay, reply_problem
from bgr.utils.atomic_io import new_file
from bgr.utils.json_utils import parse_json, repr_short
from bgr.utils.options import File, Options, OutFile, positional

FORMAT = "bgr replies 1"
MAX_BYTES = 500_000_000
"""Maximum bytes of all lines: XZ compresses a file of zeros to a thousandth of its size."""
MEMORY = 128 << 20
"""Maximum bytes that the decompression itself may take; the preset of `pack` takes half of it."""


@dataclass(frozen=True, kw_only=True)
class PackOptions(Options):
    """Options of `bgr llm pack` and `bgr llm unpack`.

    Args:
        source: file to read.
        out: file to write, which must not exist unless --overwrite is given.
        overwrite: replace the file if it exists.
    """

    source: File = positional()
    out: OutFile
    overwrite: bool = False


def pack(options: PackOptions) -> int:
    """Pack a replay cache; returns the number of replies.

    Raises:
        DataError: the cache cannot be read, a reply in it is damaged, or the file exists or cannot be written.
    """
    _check_free(options)
    if not options.source.is_file():
        raise DataError(f"{options.source}: no such file; allowed: a replay cache")
    with Replay(options.source, replay_only=True) as replay:
        rows = list(replay.rows())
    for row in rows:
        if problem := reply_problem(row):
            raise DataError(f"{options.source}: the reply under {str(row[0])[:16]}… is damaged: {problem}")
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    body = "".join(f"{line}\n" for line in lines).encode()
    head = {"format": FORMAT, "replies": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    content = json.dumps(head).encode() + b"\n" + body
    with new_file(options.out, parents=True) as part:
        part.write_bytes(lzma.compress(content, check=lzma.CHECK_SHA256, preset=9 | lzma.PRESET_EXTREME))
    return len(lines)


def unpack(options: PackOptions) -> int:
    """Write the replay cache of a packed file, to which more replies can be added; returns their number.

    Raises:
        DataError: the file is damaged, or the cache exists or cannot be written.
    """
    _check_free(options)
    rows = list(read_packed(options.source))
    with new_file(options.out, parents=True) as part:
        part.unlink()  # an empty file would be one, too, but SQLite's journal is named after it
        with Replay(part) as replay:
            replay.add(rows)
    return len(rows)


def _check_free(options: PackOptions) -> None:
    if options.out.exists() and not options.overwrite:
        raise BgrError(f"{options.out}: exists already; give --overwrite to replace it")


def read_packed(path: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of a packed file (`bgr.llm.replay.COLUMNS`); nothing is parsed before the hash of all is compared.

    Raises:
        DataError: the file cannot be read, is damaged or too large, or holds a reply that is not valid.
    """
    first, _, body = _content(path).partition(b"\n")
    head = parse_json(_text(first, f"{path}, line 1"), f"{path}, line 1")
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DataError(f"{path}: not a packed replay file of the format {FORMAT!r}")
    lines = body.split(b"\n")[:-1]
    if hashlib.sha256(body).hexdigest() != head.get("sha256") or len(lines) != head.get("replies"):
        raise DataError(f"{path}: damaged: the replies are not those whose number and hash its first line has")
    last = ""
    for number, line in enumerate(lines, 2):
        row = _row(line, f"{path}, line {number}")
        if row[0] <= last:
            raise DataError(f"{path}, line {number}: key {row[0][:16]}… is repeated or out of order")
        last = row[0]
        yield row


def _content(path: Path) -> bytes:
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
    try:
        content = decompressor.decompress(path.read_bytes(), MAX_BYTES)
    except lzma.LZMAError as error:
        raise DataError(f"{path}: not a packed replay file: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not decompressor.eof or decompressor.unused_data:
        raise DataError(f"{path}: cut off, followed by other data, or more than {MAX_BYTES:,} bytes")
    return content


def _row(line: bytes, where: str) -> tuple[Any, ...]:
    row = parse_json(_text(line, where), where)
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise DataError(f"{where}: is {repr_short(row)}, allowed: a list of {', '.join(COLUMNS)}")
    if problem := reply_problem(row):
        raise DataError(f"{where}: {problem}")
    return tuple(row)


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8: {error.reason}") from None
