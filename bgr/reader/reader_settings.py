"""What belongs to a reader beside its weights (``reader.json``)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bgr.errors import CheckpointError
from bgr.utils.json_utils import shown
from bgr.utils.settings_file import read_settings

FORMAT = 1
SETTINGS = "reader.json"
READER = "reader"
"""Where a checkpoint folder keeps its reader."""
MOST = 100_000


@dataclass(frozen=True)
class ReaderSettings:
    """How a reader's input is written and how long its output may be.

    Args:
        structure: say the graph's structure in words (`bgr.reader.reader`).
        slots: read names and quantities as placeholders (`bgr.reader.slots`).
        words: the words that are no placeholders, where there are placeholders.
        most_tokens: of an input; the end of a longer one is cut off.
        longest_answer: tokens of an answer.
        data_hash: of the dataset it was trained on.
        format: version of the file.
    """

    structure: bool = True
    slots: bool = False
    words: tuple[str, ...] = ()
    most_tokens: int = 512
    longest_answer: int = 32
    data_hash: str = ""
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> ReaderSettings:
        """What a folder's ``reader.json`` says.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: another format, or a field that is unknown or not allowed.
        """
        path = folder / SETTINGS
        record = read_settings(path, cls, FORMAT, "reader")
        for name, value in record.items():
            if not _allowed(name, value):
                raise CheckpointError(f"{path}: {name} is {shown(value)}, allowed: {_ALLOWED[name]}")
        return cls(**{**record, "words": tuple(record.get("words", ()))})


_ALLOWED = {
    "structure": "true or false",
    "slots": "true or false",
    "words": "a list of words",
    "most_tokens": f"a whole number from 1 to {MOST}",
    "longest_answer": f"a whole number from 1 to {MOST}",
    "data_hash": "a text",
    "format": str(FORMAT),
}


def _allowed(name: str, value: object) -> bool:
    if name in ("structure", "slots"):
        return isinstance(value, bool)
    if name == "words":
        return isinstance(value, list) and all(isinstance(word, str) for word in value)
    if name in ("most_tokens", "longest_answer"):
        return type(value) is int and 1 <= value <= MOST
    return name == "format" or isinstance(value, str)
