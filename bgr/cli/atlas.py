"""Write Atlas, a knowledge base of films, places and chemical elements, with questions over it, as KQA Pro files.

The folder holds kb.json, train.json and val.json (nine and one of ten questions) in the schema of KQA Pro 1.0, and
atlas.json with the counts, the seed, the versions and licences of the data packages and the files' SHA-256.
Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder

_FILES = ("kb.json", "train.json", "val.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bgr atlas`."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--questions", type=int, default=15_000, metavar="N", help="number of questions (%(default)s)")
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="N", help="entities of the dense core (%(default)s)"
    )
    parser.add_argument("--full", action="store_true", help="all entities of the data packages instead of the core")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="equal seeds give equal files (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace the folder if it exists")


def run(args: argparse.Namespace) -> None:
    """Build the knowledge base, sample the questions and write the folder.

    Raises:
        DataError: a data package is missing, a number is out of range, or the folder exists.
    """
    from bgr.data.atlas.sources.packages import package_versions

    if args.questions < 10:
        raise DataError(f"--questions {args.questions}: at least 10, so that both train.json and val.json get some")
    versions = package_versions()
    with output_folder(args.out, overwrite=args.overwrite) as folder:
        base = _write_base(folder / "kb.json", full=args.full, seed=args.seed, size=args.size)
        train, val = split(sample(folder / "kb.json", args.questions, args.seed), args.seed)
        write_json(folder / "train.json", train)
        write_json(folder / "val.json", val)
        about: dict[str, Any] = {
            "seed": args.seed,
            "size": None if args.full else args.size,
            "questions": {"train": len(train), "val": len(val)},
            "knowledge base": base,
            "packages": versions,
            "sha256": {name: _sha256(folder / name) for name in _FILES},
        }
        (folder / "atlas.json").write_text(json.dumps(about, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"{args.out}: {base['entities']:,} entities, {len(train):,} + {len(val):,} questions")


def _write_base(path: Path, *, full: bool, seed: int, size: int) -> dict[str, Any]:
    """Write kb.json; only its counts stay in memory, for the sampler holds it in a form of its own."""
    from bgr.data.atlas.build import build_knowledge_base, counts

    kb = build_knowledge_base(full=full, seed=seed, size=size, progress=True)
    write_json(path, kb)
    return counts(kb)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sample(path: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Questions over the knowledge base in a file."""
    from bgr.data.atlas.sampler.sampler import sample_questions
    from bgr.data.kb.knowledge_base import KnowledgeBase

    return sample_questions(KnowledgeBase.load(path, progress=True), count=count, seed=seed, progress=True)


def split(questions: list[dict[str, Any]], seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nine tenths and one tenth, shuffled."""
    shuffled = list(questions)
    random.Random(seed).shuffle(shuffled)
    held_out = max(1, len(shuffled) // 10)
    return shuffled[held_out:], shuffled[:held_out]


def write_json(path: Path, content: Any) -> None:
    """One line of compact JSON, with accents as they are; written piece by piece, never as one text in memory."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_pieces(content, 2))


def _pieces(content: Any, levels: int) -> Iterator[str]:
    """The text of an object or list entry by entry, so many levels down."""
    if not levels or not isinstance(content, dict | list):
        yield json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return
    entries = content.items() if isinstance(content, dict) else ((None, entry) for entry in content)
    opening, closing = "{}" if isinstance(content, dict) else "[]"
    for number, (key, entry) in enumerate(entries):
        yield ("," if number else opening) + ("" if key is None else json.dumps(key, ensure_ascii=False) + ":")
        yield from _pieces(entry, levels - 1)
    yield closing if content else opening + closing
