"""Options of the commands that use a checkpoint: `bgr export` and `bgr ask`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from bgr.utils.json_utils import text_problem
from bgr.utils.options import File, Folder, MachineOptions, Metavar, Options, OutFile, OutFolder, positional

MAX_FACTS = 10_000
"""Maximum candidates of one question; more of them need a search first."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """Options of `bgr export`.

    Args:
        run: run folder of `bgr train retriever`, or another checkpoint folder.
        out: new checkpoint folder.
        reader: folder of `bgr train reader`, to answer questions (default: the reader in the run folder, if any).
        half: store the weights in fp16, at half the size.
        without_encoder: store the name and hash of the packaged encoder in place of its weights; whoever loads the
            checkpoint needs the package (bgr[offline]).
        metrics: metrics.json of `bgr evaluate`, for the model card.
        overwrite: replace the folder if it exists.
    """

    run: Folder
    out: OutFolder
    reader: Folder | None = None
    half: bool = False
    without_encoder: bool = False
    metrics: File | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AskOptions(MachineOptions):
    """Options of `bgr ask`.

    Args:
        questions: the questions, each in quotes (default: from --file, else from standard input, or at a prompt).
        checkpoint: folder of `bgr export` or of a training run.
        facts: text file with one fact a line; empty lines are skipped.
        file: text file with one question a line; - for standard input.
        reader: reader in place of the checkpoint's: a folder of `bgr train reader`, or a language model (smollm2, a
            .gguf file, a folder, or http://host/v1#model).
        draw: draw the graph of a single question to this .png, .svg or .html file.
        overwrite: replace the drawing if it exists.
    """

    questions: tuple[str, ...] = positional((), metavar="QUESTION")
    checkpoint: Folder
    facts: File
    file: Annotated[str, Metavar("FILE|-")] | None = None
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None
    draw: OutFile | None = None
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        if any(not question.strip() for question in self.questions):
            yield "a question is empty"
        yield from (f"a question {found}" for found in map(text_problem, self.questions) if found)
        if self.questions and self.file is not None:
            yield "give questions either on the command line or in --file"
        if self.draw is not None and len(self.questions) != 1:
            yield "--draw draws the graph of one question, given on the command line"
