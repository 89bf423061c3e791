"""Questions to a checkpoint, as `bgr ask` puts them: given, from a file or standard input, or at a prompt.

Whatever can be wrong with the input is found before PyTorch is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.errors import CheckpointError, DataError
from bgr.released import checkpoint_folder, collection_folder
from bgr.retrievers.graph_hop.hub import download, is_hub_id
from bgr.retrievers.graph_hop.options import MAX_FACTS, AskOptions
from bgr.utils.error_text import did_you_mean_path
from bgr.utils.json_utils import text_problem
from bgr.utils.text_layout import clean

if TYPE_CHECKING:
    from bgr.collection.collection import Collection
    from bgr.pipeline import BgrPipeline
    from bgr.reader.answer import Answer

PARTS = ("bgr.json", "forward/config.json", "backward/config.json", "tokenizer.json")
"""Files that every checkpoint has."""

PROMPT = "question> "

MAX_FILE = 1 << 28
"""Maximum number of characters in a file of facts or questions, or of standard input."""


class Asking:
    """Questions over one list of facts, or over a collection, by default over the released one.

    Raises:
        DataError: the facts, the collection or the questions cannot be read, there are too many facts, or the drawing
            cannot be written.
        CheckpointError: the folder is no checkpoint, or a checkpoint cannot be downloaded.
    """

    def __init__(self, options: AskOptions) -> None:
        self.options = options
        self.facts = None if options.facts is None else _read_facts(options.facts)
        self.searched = options.collection
        if self.searched is not None:
            check_collection(self.searched)
        if options.draw is not None:
            from bgr.graph.draw import check_drawing

            check_drawing(options.draw, overwrite=options.overwrite)
        # standard input is None where it is closed
        self.prompts = not options.questions and options.file is None and sys.stdin is not None and sys.stdin.isatty()
        self.questions = [] if self.prompts else list(_questions(options))
        self.checkpoint = checkpoint_path(options.checkpoint)  # may be downloaded, so it comes after quick checks
        if self.facts is None and self.searched is None:
            self.searched = collection_folder(progress=True)
        self._pipeline: BgrPipeline | None = None
        self._collection: Collection | None = None

    @property
    def pipeline(self) -> BgrPipeline:
        """The checkpoint, loaded when it is needed first."""
        if self._pipeline is None:
            from bgr.pipeline import BgrPipeline

            options = self.options
            self._pipeline = BgrPipeline.from_pretrained(
                self.checkpoint, reader=options.reader, device=options.device, precision=options.precision
            )
        return self._pipeline

    @property
    def collection(self) -> Collection | None:
        """The collection, ready to be searched; ``None`` if there are facts in its place."""
        if self._collection is None and self.searched is not None:
            self._collection = open_collection(self.searched, self.pipeline, verify=self.options.verify)
        return self._collection

    def answers(self) -> list[Answer]:
        """Answer all questions, and draw the graph if requested and there is one."""
        from bgr.retrievers.base import Query

        queries = [Query(question, self.facts) for question in self.questions]
        found = self.pipeline.answer_all(
            queries, collection=self.collection, pool=self.options.pool, progress=len(queries) > 1
        )
        if self.options.draw is not None and found[0].graph.nodes:
            found[0].draw(self.options.draw)
        return found

    def converse(self) -> Iterator[Answer]:
        """Answers to questions typed at a prompt, until an empty line or the end of the input. An error of one question
        is printed, and the next one is read."""
        pipeline, searched = self.pipeline, self.facts or self.collection  # loaded before the first question
        assert searched is not None
        kind = "facts" if self.facts else "texts"
        print(f"{len(searched):,} {kind}; an empty line ends", file=sys.stderr)
        while True:
            try:
                question = _typed()
                if not question:
                    return
                answer = pipeline.answer(question, searched, pool=self.options.pool)
            except DataError as error:  # of this question: the next one may be right
                print(f"error: {clean(str(error))}", file=sys.stderr)
                continue
            yield answer


def checkpoint_path(given: str | None) -> Path:
    """The folder of a checkpoint: the released weights by default, or ``owner/name`` or ``owner/name@revision`` from
    the Hub (`download`), which is told on standard error. Where ``owner`` is a folder here, and after ``./``, a folder
    is meant.

    Raises:
        CheckpointError: the folder is no checkpoint, or as `download`.
    """
    folder = checkpoint_folder() if given is None else Path(given)
    name, _, revision = (given or "").partition("@")
    if is_hub_id(name) and not folder.parent.is_dir():
        print(f"{given}: there is no such folder; looking on the Hugging Face Hub", file=sys.stderr)
        folder = download(name, revision=revision or None)
    check_checkpoint(folder)
    return folder


def check_checkpoint(folder: Path) -> None:
    """Check that a folder has the files of a checkpoint; CheckpointError otherwise."""
    for part in PARTS:
        if not (folder / part).is_file():
            raise CheckpointError(
                f"{folder / part}: no such file; allowed: the folder of a checkpoint{did_you_mean_path(folder)}"
            )


def check_collection(folder: Path) -> str:
    """The hash of a collection's texts, from its manifest; DataError if there is no collection, a damaged or an empty
    one."""
    from bgr.collection.folder import read_manifest

    manifest = read_manifest(folder)
    if not manifest.passages:
        raise DataError(f"{folder}: the collection has no texts; add some first: `bgr collection add`")
    return manifest.corpus


def open_collection(folder: Path, pipeline: BgrPipeline, *, verify: bool = True) -> Collection:
    """Open a collection, and prepare the search of a checkpoint over it; see `BgrPipeline.search_over` for errors."""
    from bgr.collection.collection import Collection

    collection = Collection.open(folder, verify=verify, progress=True)
    pipeline.search_over(collection)
    return collection


def _typed() -> str:
    """A question typed at the prompt, empty at the end of the input; DataError if it is not a valid text."""
    try:
        question = " ".join(input(PROMPT).split())
    except EOFError:
        return ""
    except UnicodeDecodeError as error:
        raise DataError(f"the question cannot be read as text: {error}") from None
    if problem := text_problem(question):
        raise DataError(f"the question {problem}")
    return question


def _read_facts(path: Path) -> list[str]:
    facts = read_sentences(path)
    if len(facts) > MAX_FACTS:
        raise DataError(f"{path}: {len(facts):,} facts, allowed: {MAX_FACTS:,}; build a collection for more")
    return facts


def _questions(options: AskOptions) -> list[str]:
    """The given questions, or those of a file or of standard input.

    Raises:
        DataError: as `read_sentences`.
    """
    if options.questions:
        return [" ".join(question.split()) for question in options.questions]
    if options.file is not None and options.file != "-":
        return read_sentences(Path(options.file), "question")
    try:
        text = sys.stdin.read(MAX_FILE + 1) if sys.stdin is not None else ""  # a pipe may never end
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: cannot be read as text: {error}") from None
    return _sentences(text, "standard input", "question")


def read_sentences(path: Path, what: str = "fact") -> list[str]:
    """The sentences of a text file, one per line.

    Raises:
        DataError: the file is missing, not UTF-8 text, longer than `MAX_FILE`, or has no sentence.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_FILE + 1)  # a device or a pipe may never end
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from None
    return _sentences(text, str(path), what)


def _sentences(text: str, where: str, what: str) -> list[str]:
    if len(text) > MAX_FILE:
        raise DataError(f"{where}: more than {MAX_FILE:,} characters; divide it")
    # the mark at the beginning of a file, which some editors write, is not part of its first sentence; str.splitlines
    # would also cut at U+2028, form feeds and others, which are spaces here; standard input may have any line ends
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            raise DataError(f"{where}: line {number}: holds NUL characters, as UTF-16 does; save it as UTF-8")
        if problem := text_problem(line):
            raise DataError(f"{where}: line {number}: the {what} {problem}")
    found = [" ".join(line.split()) for line in lines if line.strip()]
    if not found:
        raise DataError(f"{where}: no {what}s; one {what} a line is expected")
    return found
