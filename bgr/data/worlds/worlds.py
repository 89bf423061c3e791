"""Small worlds: sentences about things that Atlas does not have, with questions, their evidence graphs and answers.

Each world is of another domain, invented, and written by hand without templates: some forty sentences, many of them
near misses of one another, and fourteen questions, of which two have no answer. Some are lists of three to fourteen
plain facts, invented or well known, with eight plain questions, as people who try something first type them. Atlas asks
about films, places, languages and chemistry in the words of its phrasebook; here are others, to learn from
(`train.jsonl`) and to be tested on (`test.jsonl`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bgr.data.options import ImportOptions, WorldsOptions
from bgr.data.own.importing import Imported, import_data
from bgr.utils.atomic_io import write_lines

DEV = 10
"""Of the worlds to learn from, each tenth is for dev."""


def write_worlds(options: WorldsOptions) -> Imported:
    """Write all questions as a dataset.

    Raises:
        BgrError: the folder exists, or cannot be written.
    """
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "worlds.jsonl"
        write_lines(lines, (json.dumps(one, ensure_ascii=False) for one in world_lines()))
        own = ImportOptions(files=(lines,), out=options.out, name="Worlds", overwrite=options.overwrite)
        return import_data(own, progress=False)


def world_lines() -> Iterator[dict[str, Any]]:
    """The questions, each with the sentences of its world as candidates. A question's id has its world and number."""
    for number, world in enumerate(_worlds("train")):
        yield from _lines(world, "dev" if number % DEV == DEV - 1 else "train")
    for world in _worlds("test"):
        yield from _lines(world, "test")


def _worlds(name: str) -> Iterator[dict[str, Any]]:
    with Path(__file__).with_name(f"{name}.jsonl").open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _lines(world: dict[str, Any], split: str) -> Iterator[dict[str, Any]]:
    for number, asked in enumerate(world["questions"], start=1):
        line = {"id": f"{world['domain']} {number}", "question": asked["question"], "facts": world["facts"]}
        if asked["edges"]:
            line |= {"graph": {"edges": asked["edges"]}, "answer": asked["answer"], "type": asked["type"]}
        else:
            line["answerable"] = False
        yield line | {"split": split}
