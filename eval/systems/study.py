"""The frame of a comparison or study on passages: load the questions, open the output folder, run the systems."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError, DataError
from eval.run.question_result import QuestionResult
from eval.run.result_log import ResultLog
from eval.run.run_system import System, run_system
from eval.systems.options import ResourceOptions

RESULTS = "results.jsonl"


def load_questions(options: ResourceOptions, split: str = "test") -> MultihopData:
    """A published file, or a split of a dataset folder.

    Raises:
        BgrError: it is missing or damaged, or a folder comes with options for files.
    """
    if not options.data.exists():
        raise DataError(f"{options.data}: no such file or folder")
    if not options.data.is_dir():
        from bgr.data.multihop.load import load_multihop

        return load_multihop(options.data, corpus=options.corpus, form=options.form)
    if options.corpus is not None or options.form is not None:
        raise BgrError(f"--data: {options.data} is a folder; --corpus and --form are for published files")
    from bgr.data.multihop.assemble import from_examples
    from bgr.data.reasongraphqa.io.dataset import load_split

    return from_examples(f"{options.data.name}, {split}", load_split(options.data, split, progress=True))


def open_output(options: ResourceOptions) -> None:
    """Make the output folder, or open one in which the same kind of command is resumed.

    Raises:
        DataError: it holds something else, or cannot be written.
    """
    out = options.out
    ours = (out / RESULTS).is_file()
    if out.exists() and not ours and not _is_empty(out) and not options.overwrite:
        raise DataError(f"{out}: exists already and holds no {RESULTS}; give --overwrite to replace it")
    try:
        if options.overwrite and out.is_dir():
            shutil.rmtree(out)
        elif options.overwrite:
            out.unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror or error}") from None


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def run_all(
    options: ResourceOptions, systems: Sequence[System], data: MultihopData
) -> list[tuple[System, list[QuestionResult]]]:
    """Results of the systems one after the other; those in the output folder are taken from there."""
    retry = options.replay is not None
    with ResultLog(options.out / RESULTS) as log:
        return [
            (one, run_system(one, data, log, batch_size=options.batch_size, retry=retry, progress=True))
            for one in systems
        ]
