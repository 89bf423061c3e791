"""Atlas as a folder of KQA Pro files: kb.json, train.json, val.json, and atlas.json with counts and hashes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.atlas.build import build_knowledge_base, counts
from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.atlas.sources.packages import package_versions
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.options import AtlasOptions
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder
from bgr.utils.hashing import hash_file

_FILES = ("kb.json", "train.json", "val.json")


@dataclass(frozen=True)
class AtlasFiles:
    """A folder that `write_atlas` wrote, with the numbers of its entities and questions."""

    folder: Path
    entities: int
    train: int
    val: int


def write_atlas(options: AtlasOptions) -> AtlasFiles:
    """Build the knowledge base, sample the questions and write the folder.

    Raises:
        DataError: a data package is missing, a number is out of range, or the folder exists.
    """
    if options.questions < 10:
        raise DataError(f"--questions {options.questions}: at least 10, so that both train.json and val.json get some")
    versions = package_versions()
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        base = _write_base(folder / "kb.json", options)
        kb = KnowledgeBase.load(folder / "kb.json", progress=True)
        questions = sample_questions(kb, count=options.questions, seed=options.seed, progress=True)
        train, val = split(questions, options.seed)
        write_json(folder / "train.json", train)
        write_json(folder / "val.json", val)
        about: dict[str, Any] = {
            "seed": options.seed,
            "size": None if options.full else options.size,
            "questions": {"train": len(train), "val": len(val)},
            "knowledge base": base,
            "packages": versions,
            "sha256": {name: hash_file(folder / name) for name in _FILES},
        }
        (folder / "atlas.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return AtlasFiles(options.out, base["entities"], len(train), len(val))


def _write_base(path: Path, options: AtlasOptions) -> dict[str, Any]:
    """Write kb.json; only its counts stay in memory, because the sampler holds it in a form of its own."""
    kb = build_knowledge_base(full=options.full, seed=options.seed, size=options.size, progress=True)
    write_json(path, kb)
    return counts(kb)


def split(questions: list[dict[str, Any]], seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nine tenths and one tenth, shuffled."""
    shuffled = list(questions)
    random.Random(seed).shuffle(shuffled)
    held_out = max(1, len(shuffled) // 10)
    return shuffled[held_out:], shuffled[:held_out]


def write_json(path: Path, content: Any) -> None:
    """One line of compact JSON, not escaped to ASCII; written piece by piece, never as one text in memory."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_pieces(content, 2))


def _pieces(content: Any, levels: int) -> Iterator[str]:
    """The text of an object or list entry by entry, this many levels deep."""
    if not levels or not isinstance(content, dict | list):
        yield json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return
    entries = content.items() if isinstance(content, dict) else ((None, entry) for entry in content)
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    for number, (key, entry) in enumerate(entries):
        yield ("," if number else opening) + ("" if key is None else json.dumps(key, ensure_ascii=False) + ":")
        yield from _pieces(entry, levels - 1)
    yield closing if content else opening + closing
