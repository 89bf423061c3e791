"""Packed replies: a replay cache as compressed JSON lines, small enough to be kept beside the results that it gives.

The file is XZ (`lzma`). Its first line has the format, the number of replies and the SHA-256 of all lines that follow;
each of these is one reply, in the order of the keys. Equal replies give equal lines, whatever order they came in.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.llm.interface import Alternatives
from bgr.utils.atomic_io import new_file
from bgr.utils.json_utils import is_text, parse_json, repr_short

MAGIC = b"\xfd7zXZ\0"
"""First bytes of a packed file."""
FORMAT = "bgr replies 1"
WITH_FIRST = "first:"
"""Prefix of the keys of replies with first-token alternatives, whose text column holds both as JSON."""

COLUMNS = ("key", "backend", "step", "text", "tokens_in", "tokens_out", "cut", "seconds", "clipped")
"""The columns of a reply."""
_KEY = re.compile(rf"({WITH_FIRST})?[0-9a-f]{{64}}")
MAX_BYTES = 500_000_000
"""Maximum bytes of all lines: XZ compresses a file of zeros to a thousandth of its size."""
MEMORY = 128 << 20
"""Maximum bytes that the decompression itself may take; the preset of `pack` takes half of it."""


def write_packed(path: Path, rows: Sequence[Sequence[Any]]) -> None:
    """Write rows of `COLUMNS`, which are in the order of their keys.

    Raises:
        DataError: a reply is not valid, there are more than `MAX_BYTES`, or the file cannot be written.
    """
    for row in rows:
        if problem := reply_problem(row):
            raise DataError(f"{path}: the reply under {str(row[0])[:16]}… is damaged: {problem}")
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    body = "".join(f"{line}\n" for line in lines).encode()
    head = {"format": FORMAT, "replies": len(lines), "sha256": hashlib.sha256(body).hexdigest()}
    content = json.dumps(head).encode() + b"\n" + body
    if len(content) > MAX_BYTES:
        raise DataError(f"{path}: the replies have {len(content):,} bytes, allowed: {MAX_BYTES:,}")
    with new_file(path, parents=True) as part:
        part.write_bytes(lzma.compress(content, check=lzma.CHECK_SHA256, preset=9 | lzma.PRESET_EXTREME))


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


def reply_problem(row: Sequence[Any]) -> str:
    """Why the values of a reply's `COLUMNS` are not valid; empty if they are."""
    key, *texts = row[:4]
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        return f"key is {repr_short(key)}, allowed: 64 hexadecimal digits"
    if not all(is_text(text) for text in texts):
        return "backend, step or text is no text"
    if key.startswith(WITH_FIRST) and alternatives_of(texts[2])[0] is None:
        return "its first-token alternatives are damaged"
    if not all(type(row[place]) is int and row[place] >= 0 for place in (4, 5, 6, 8)):
        return "a count is not an integer from 0"
    return "" if isinstance(row[7], float) and 0 <= row[7] < float("inf") else f"seconds are {repr_short(row[7])}"


def alternatives_of(packed: object) -> tuple[str | None, Alternatives]:
    """The text and the first-token alternatives of a reply; no text if they are damaged."""
    try:
        text, first = json.loads(str(packed))
        return text, tuple((str(token), float(value)) for token, value in first)
    except (ValueError, TypeError, RecursionError):
        return None, ()
