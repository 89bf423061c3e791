"""Reads the question files of KQA Pro (or Atlas): every program is checked before anything costly starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bgr.data.reasongraphqa.build.grounding import Dropped, Question
from bgr.errors import DataError, ProgramError
from bgr.utils.json_stream import read_items

QUESTION_FILES = ("train.json", "val.json")
UNANSWERED_FILE = "test.json"
MALFORMED = "malformed record"


@dataclass(frozen=True)
class Questions:
    """The questions of a folder, the malformed ones (only if they may be skipped) and how many have no program."""

    questions: tuple[Question, ...]
    malformed: tuple[Dropped, ...]
    without_program: int


def read_questions(folder: str | Path, *, skip_bad: bool = False, progress: bool = False) -> Questions:
    """Read ``train.json`` and ``val.json``; ``test.json`` has no programs and is only counted.

    The files are read item by item: of a record only the question, its answer and its checked program stay in memory.

    Args:
        folder: where the files lie; one of the two must be there.
        skip_bad: keep malformed records apart instead of raising.
        progress: show bars of bytes on standard error.

    Raises:
        DataError: no such file, not a list, or not valid JSON; a record that lacks a field (unless `skip_bad`).
        ProgramError: a malformed program (unless `skip_bad`); the message names file, item and step.
    """
    folder = Path(folder)
    files = [folder / name for name in QUESTION_FILES if (folder / name).exists()]
    if not files:
        raise DataError(f"{folder}: holds no questions, expected {' or '.join(QUESTION_FILES)}")
    questions: list[Question] = []
    malformed: list[Dropped] = []
    for file in files:
        for index, record in enumerate(read_items(file, progress=progress)):
            where = f"{file}: item {index}"
            try:
                questions.append(Question.from_json(record, f"{file.stem}-{index:06d}", where))
            except (DataError, ProgramError) as error:
                if not skip_bad:
                    raise
                malformed.append(Dropped(where, MALFORMED, str(error)))
    unanswered = folder / UNANSWERED_FILE
    without = sum(1 for _ in read_items(unanswered, progress=progress)) if unanswered.exists() else 0
    return Questions(tuple(questions), tuple(malformed), without)
