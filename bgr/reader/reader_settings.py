"""What belongs to a reader beside its weights (``reader.json``)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bgr.utils.atomic_io import write_text
from bgr.utils.settings import STRICT, load_settings

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

    __pydantic_config__ = STRICT

    structure: bool = True
    slots: bool = False
    words: tuple[str, ...] = ()
    most_tokens: Annotated[int, Field(ge=1, le=MOST)] = 512
    longest_answer: Annotated[int, Field(ge=1, le=MOST)] = 32
    data_hash: str = ""
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        write_text(folder / SETTINGS, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> ReaderSettings:
        """Read a folder's ``reader.json``.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: another format, or a field that is unknown or not allowed.
        """
        return load_settings(folder / SETTINGS, cls, "reader")
