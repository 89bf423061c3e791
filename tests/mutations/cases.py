"""Cases for one file: damage to its bytes, and seeded random damage to the values and the structure of its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from .campaign import Case
from .harm import BYTES, STRUCTURE, VALUES, Way, replaced, restructured

Item = Callable[[Way], str | None]
"""The item that a location in a file belongs to, see `Case`."""


def byte_cases(name: str) -> Iterator[Case]:
    """All kinds of damage to the bytes of a file."""
    for how in BYTES:
        yield Case(f"{name}: {how}", _harm_bytes(name, how))


def value_cases(file: Path, name: str, ways: Sequence[Way], count: int, item: Item) -> Iterator[Case]:
    """`count` wrong values, at each of the paths in turn.

    Args:
        file: the file as it should be.
        name: its place in the folder that is harmed.
        ways: the places to harm.
        count: how many cases.
        item: see `Item`.
    """
    content = read(file)
    for number in range(count):
        rng = Random(f"{name}|value|{number}")
        way, how = ways[number % len(ways)], rng.choice(sorted(VALUES))
        text = _joined(file, content, way, lambda part, rest, how=how: replaced(part, rest, VALUES[how]))
        yield Case(f"{name}: {how} at {_shown(way)}", _writer(name, text), item(way))


def structure_cases(file: Path, name: str, ways: Sequence[Way], count: int, item: Item) -> Iterator[Case]:
    """`count` entries removed, renamed, doubled, swapped with others, or repeated; arguments: see `value_cases`."""
    content = read(file)
    inner = [way for way in ways if len(way) > (file.suffix == ".jsonl")]
    for number in range(count):
        rng = Random(f"{name}|structure|{number}")
        way, how = rng.choice(inner), STRUCTURE[number % len(STRUCTURE)]
        text = _joined(file, content, way, lambda part, rest, how=how, rng=rng: restructured(part, rest, how, rng))
        yield Case(f"{name}: {how} {_shown(way)}", _writer(name, text), item(way))


def edited(name: str, title: str, change: Callable[[Any], Any], item: str | None = None) -> Case:
    """A file whose parsed content is changed by a function, in place or by its result."""

    def harm(folder: Path) -> None:
        content = read(folder / name)
        changed = change(content)
        write(folder / name, content if changed is None else changed)

    return Case(f"{name}: {title}", harm, item)


def read(path: Path) -> Any:
    """A JSON file's content; of JSON lines the list of the lines' contents."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line] if path.suffix == ".jsonl" else json.loads(text)


def write(path: Path, content: Any) -> None:
    """The inverse of `read`."""
    lines = path.suffix == ".jsonl"
    text = "".join(f"{json.dumps(record)}\n" for record in content) if lines else json.dumps(content)
    path.write_text(text, encoding="utf-8")


def _joined(file: Path, content: Any, way: Way, change: Callable[[Any, Way], str]) -> str:
    """The text of the file with a change at a path; in JSON lines the first step of a path is the line."""
    if file.suffix != ".jsonl":
        return change(content, way)
    return "".join(
        (change(record, way[1:]) if number == way[0] else json.dumps(record)) + "\n"
        for number, record in enumerate(content)
    )


def _writer(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8") and None


def _shown(way: Way) -> str:
    return "/".join(map(str, way)) or "the whole"


def _harm_bytes(name: str, how: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / name
        path.write_bytes(BYTES[how](path.read_bytes(), Random(f"{name}|{how}")))

    return harm
