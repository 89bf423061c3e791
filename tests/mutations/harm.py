"""Damage to a file: to its bytes, to one value of its JSON, or to its structure; seeded and reproducible."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

Way = tuple[str | int, ...]
"""Path: keys and indices from the root of a JSON document to a value in it."""

_HERE = "@@here@@"

VALUES = {
    "null": "null",
    "true": "true",
    "integer": "7",
    "fraction": "1.5",
    "negative": "-1",
    "zero": "0",
    "a year that never was": "2026000000000000",
    "400 digits": "1" * 400,
    "5000 digits": "1" * 5000,
    "more than a float": "1e999",
    "nan": "NaN",
    "infinity": "-Infinity",
    "empty": '""',
    "blank": '" \\t"',
    "half a surrogate pair": '"a\\ud800b"',
    "two halves": '"\\ud83c\\udfac"',
    "control characters": '"a\\u0000b\\u001b[31mc\\u0085d\\u2028e"',
    "newlines": '"first\\nsecond\\r\\nthird"',
    "braces": '"{head} {value} {kind} a(n) {0} %s (s)"',
    "commas": '"one,, two, "',
    "quotes": '"\\"it\\" \'is\' \\\\ so"',
    "right to left": '"\\u202eabc"',
    "no date": '"1984-02-30"',
    "far date": '"99999-01-01"',
    "words": '"something else"',
    "long": json.dumps("long " * 20_000),
    "digits": json.dumps("9" * 100_000),
    "empty list": "[]",
    "empty object": "{}",
    "list": '["x"]',
    "list of lists": '[[["x"]], [1, [2]]]',
    "object": '{"x": 1, "type": "string"}',
    "deep": "[" * 400 + "]" * 400,
    "very deep": "[" * 100_000 + "]" * 100_000,
    "not JSON": "nothing",
}
"""Wrong values as JSON text, valid or not."""

STRUCTURE = ("delete", "rename", "double", "extra", "repeat key", "swap")


def places(document: Any, way: Way = (), most: int = 40) -> Iterator[Way]:
    """The paths to all values of a document, in long lists to the first few."""
    yield way
    if isinstance(document, dict):
        for key in document:
            yield from places(document[key], (*way, key), most)
    elif isinstance(document, list):
        for number, item in enumerate(document[:most]):
            yield from places(item, (*way, number), most)


def replaced(document: Any, way: Way, raw: str) -> str:
    """The document as JSON with one value replaced by `raw`."""
    if not way:
        return raw
    changed = copy.deepcopy(document)
    _holder(changed, way)[way[-1]] = _HERE
    return json.dumps(changed).replace(json.dumps(_HERE), raw)


def restructured(document: Any, way: Way, how: str, rng: Random) -> str:
    """The document as JSON with a change to the entry at a path, in its list or object."""
    changed = copy.deepcopy(document)
    holder, last = _holder(changed, way), way[-1]
    if how == "delete":
        del holder[last]
    elif how == "repeat key" and isinstance(holder, dict):
        other = json.dumps(holder[rng.choice(sorted(holder))])
        holder[_HERE] = holder[last]
        # the same key again, with a value that belongs to another key
        return json.dumps(changed).replace(json.dumps(_HERE), f"{json.dumps(last)}: {other}, {json.dumps(last)}")
    elif isinstance(holder, dict):
        if how == "rename":
            holder[f"{last}_"] = holder.pop(last)
        elif how == "swap":
            other = rng.choice(sorted(holder))
            holder[last], holder[other] = holder[other], holder[last]
        else:
            holder[f"more {last}"] = copy.deepcopy(holder[last])
    elif how in ("double", "extra", "repeat key"):
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[last]))
    else:
        other = rng.randrange(len(holder))
        holder[last], holder[other] = holder[other], holder[last]
    return json.dumps(changed)


def _holder(document: Any, way: Way) -> Any:
    for key in way[:-1]:
        document = document[key]
    return document


def _cut(raw: bytes, rng: Random) -> bytes:
    return raw[: rng.randrange(1, len(raw))]


def _flip(raw: bytes, rng: Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(3):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _insert(raw: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(raw))
    return raw[:at] + rng.randbytes(8) + raw[at:]


def _drop(raw: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(raw))
    return raw[:at] + raw[at + rng.randrange(1, 200) :]


BYTES: dict[str, Callable[[bytes, Random], bytes]] = {
    "truncated": _cut,
    "truncated by one": lambda raw, rng: raw.rstrip()[:-1],
    "bytes flipped": _flip,
    "bytes inserted": _insert,
    "bytes dropped": _drop,
    "empty": lambda raw, rng: b"",
    "blank": lambda raw, rng: b" \n\t ",
    "not JSON": lambda raw, rng: b"<html>404 not found</html>",
    "binary": lambda raw, rng: rng.randbytes(3000),
    "zeros": lambda raw, rng: bytes(len(raw)),
    "byte order mark": lambda raw, rng: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw, rng: raw.decode().encode("utf-16"),
    "Latin-1": lambda raw, rng: raw.replace(b"The", "Thé".encode("latin-1")),
    "surrogates in UTF-8": lambda raw, rng: raw.replace(b"The", b"Th\xed\xa0\x80"),
    "deeply nested": lambda raw, rng: b"[" * 100_000,
    "deeply nested and closed": lambda raw, rng: b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "another number": lambda raw, rng: b"1" * 5000,
    "twice": lambda raw, rng: raw + raw,
    "more behind": lambda raw, rng: raw + b"\n]",
    "single quotes": lambda raw, rng: raw.replace(b'"', b"'"),
    "gzip": lambda raw, rng: b"\x1f\x8b\x08\x00" + rng.randbytes(500),
    "null": lambda raw, rng: b"null",
}
