"""Options of the commands that use a checkpoint: `bgr export`, `bgr ask` and `bgr predict`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from bgr.utils.json_utils import text_problem
from bgr.utils.options import File, Folder, MachineOptions, Metavar, Options, OutFile, OutFolder, Range, positional
from bgr.utils.ray_map import RayOptions

RANKER = "ranker"
"""The folder of the ranker in a checkpoint, if it has one."""

MAX_FACTS = 10_000
"""Maximum candidates of one question; more of them need a search first."""

POOL = 200
"""Number of texts that a search hop by hop finds in a collection for each question."""

Pool = Annotated[int, Range(1, MAX_FACTS)]


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
        metrics: files metrics.json of `bgr evaluate`, for the model card; those of other data than the run was trained
            on get the name of their folder.
        overwrite: replace the folder if it exists.
    """

    run: Folder
    out: OutFolder
    reader: Folder | None = None
    half: bool = False
    without_encoder: bool = False
    metrics: tuple[File, ...] = ()
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions(MachineOptions):
    """A checkpoint that answers questions.

    Args:
        checkpoint: folder of `bgr export` or of a training run, or OWNER/NAME or OWNER/NAME@REVISION on the
            Hugging Face Hub (default: the released weights, trained on Atlas).
        reader: reader in place of the checkpoint's: a folder of `bgr train reader`, or a language model (smollm2, a
            .gguf file, a folder, or http://host/v1#model).
    """

    checkpoint: Annotated[str, Metavar("DIR|OWNER/NAME")] | None = None
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None


@dataclass(frozen=True, kw_only=True)
class CollectionOptions(Options):
    """A collection in which questions find their candidates.

    Args:
        collection: folder of `bgr collection build`, in which each question finds its candidates.
        pool: number of candidates from the collection (default: 200, or 20 from a checkpoint without a pruner).
        verify: do not compare the files of the collection with their hashes, which takes about a second for each
            gigabyte.
    """

    collection: Folder | None = None
    pool: Pool | None = None
    verify: bool = True


@dataclass(frozen=True, kw_only=True)
class AskOptions(CheckpointOptions, CollectionOptions):
    """Options of `bgr ask`. Without facts and collection, the released collection of Atlas is asked.

    Args:
        questions: the questions, each in quotes (default: from --file, else from standard input, or at a prompt).
        facts: text file with one fact a line; empty lines are skipped.
        file: text file with one question a line; - for standard input.
        draw: draw the graph of a single question to this .png, .svg or .html file.
        overwrite: replace the drawing if it exists.
    """

    questions: tuple[str, ...] = positional((), metavar="QUESTION")
    facts: File | None = None
    file: Annotated[str, Metavar("FILE|-")] | None = None
    draw: OutFile | None = None
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.facts is not None and self.collection is not None:
            yield "give the candidates either as --facts or as --collection"
        if self.facts is not None and self.pool is not None:
            yield "--pool is a number of texts of a collection, and --facts are given"
        if any(not question.strip() for question in self.questions):
            yield "a question is empty"
        yield from (f"a question {found}" for found in map(text_problem, self.questions) if found)
        if self.questions and self.file is not None:
            yield "give questions either on the command line or in --file"
        if self.draw is not None and len(self.questions) != 1:
            yield "--draw draws the graph of one question, given on the command line"


@dataclass(frozen=True, kw_only=True)
class PredictOptions(CheckpointOptions, CollectionOptions, RayOptions):
    """Options of `bgr predict`.

    Args:
        questions: JSON lines {"id", "question"}; without --collection also "facts", a list of texts.
        out: JSON lines, one record for each question.
        overwrite: replace the file if it exists, and the unfinished file of another run.
    """

    questions: File
    out: OutFile
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.pool is not None and self.collection is None:
            yield "--pool is a number of texts of --collection, which is missing"
        if self.questions.absolute() == self.out.absolute():
            yield "--out names the file of the questions"
