"""Questions of KQA Pro (or Atlas), read from their files. Every program is checked before any costly work starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.kb.program import Program
from bgr.errors import DataError, ProgramError
from bgr.utils.json_stream import read_items
from bgr.utils.json_utils import is_text, shown

QUESTION_FILES = ("train.json", "val.json")
UNANSWERED_FILE = "test.json"
MALFORMED = "malformed record"


@dataclass(frozen=True)
class Question:
    """A record of a KQA Pro file with a checked program; `where` names file and item in messages."""

    id: str
    where: str
    text: str
    answer: str
    program: Program

    @classmethod
    def from_json(cls, record: Any, id: str, where: str) -> Question:
        """Read ``{question, program, answer, …}``.

        Raises:
            DataError: a field is missing or has another type.
            ProgramError: the program is malformed.
        """
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: a question is an object, not {shown(record)}")
        for field in ("question", "program", "answer"):
            if field not in record:
                raise DataError(f"{where}: field {field!r} is missing")
        answer = record["answer"]
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            answer = str(answer)  # some files have numbers
        texts = {"question": record["question"], "answer": answer}
        for field, given in texts.items():
            if not is_text(given) or not given.strip():
                raise DataError(f"{where}: {field} is {shown(given)}, allowed: a non-empty text of valid characters")
        text, answer = (" ".join(given.split()) for given in texts.values())
        return cls(id, where, text, answer, Program.from_json(record["program"], where))


@dataclass(frozen=True)
class Dropped:
    """A question that is left out: `reason` is the same phrase for all of its kind, `detail` is about this question."""

    where: str
    reason: str
    detail: str


@dataclass(frozen=True)
class Questions:
    """The questions of a folder, the malformed ones (if they may be skipped) and the number without a program."""

    questions: tuple[Question, ...]
    malformed: tuple[Dropped, ...]
    without_program: int


def read_questions(folder: str | Path, *, skip_bad: bool = False, progress: bool = False) -> Questions:
    """Read ``train.json`` and ``val.json``; ``test.json`` has no programs and is only counted.

    The files are read item by item: only the question, its answer and its checked program stay in memory.

    Args:
        folder: folder of the files; at least one of the two must exist.
        skip_bad: return malformed records separately instead of raising.
        progress: show bars of bytes on standard error.

    Raises:
        DataError: no such file, not a list, or invalid JSON; a record that lacks a field (unless `skip_bad`).
        ProgramError: a malformed program (unless `skip_bad`); the message names file, item and step.
    """
    folder = Path(folder)
    files = [folder / name for name in QUESTION_FILES if (folder / name).exists()]
    if not files:
        raise DataError(f"{folder}: has no questions, expected {' or '.join(QUESTION_FILES)}")
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
