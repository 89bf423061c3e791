"""Programs of questions in KQA Pro's form, drawn by seed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.files import read_json
from bgr.kb.program import Program


def read_programs(folder: str | Path, count: int, seed: int = 0) -> list[Program] | None:
    """`count` programs of ``train.json`` and ``val.json`` in a KQA Pro folder, drawn by `seed`, or all if it has fewer.

    Returns:
        ``None`` where the folder has neither file.

    Raises:
        DataError: a file that is not a list of questions, a question without a program.
        ProgramError: a malformed program; the message names file and item.
    """
    items: list[tuple[str, Any]] = []
    paths = [path for name in ("train.json", "val.json") if (path := Path(folder) / name).exists()]
    for path in paths:
        questions = read_json(path)
        if not isinstance(questions, list):
            raise DataError(f"{path}: expected a list of questions")
        items += [(f"{path}, item {index}", question) for index, question in enumerate(questions)]
    if not paths:
        return None
    programs = []
    for where, question in random.Random(seed).sample(items, min(count, len(items))):
        if not isinstance(question, dict) or "program" not in question:
            raise DataError(f"{where}: field 'program' is missing")
        programs.append(Program.from_json(question["program"], where))
    return programs
