"""Steps of every comparison or study on passages: load the questions, open the output folder, run the systems."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import is_empty, writing
from bgr.utils.checksums import remove_sums
from eval.run.question_result import QuestionResult
from eval.run.run_system import ResultLog, System, run_system
from eval.systems.options import ResourceOptions

RESULTS = "results.jsonl"


def load_questions(options: ResourceOptions, split: str = "test") -> MultihopData:
    """The questions of a published file, or of a split of a dataset folder.

    Raises:
        BgrError: the data are missing or damaged, or a folder is given with options for files.
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


def check_contexts(data: MultihopData, option: str, allowed: str) -> None:
    """Refuse the passages that come with the questions where they are the gold passages (MultiHop-RAG).

    Raises:
        BgrError: no question has another passage than its gold ones.
    """
    if all(set(question.context) <= set(question.gold) for question in data.questions):
        raise BgrError(
            f"{option}: the passages that come with the questions of {data.name} are their gold passages, so there is "
            f"nothing to find; allowed: {allowed}"
        )


def about_files(options: ResourceOptions) -> dict[str, Any]:
    """Data, corpus and limit of the run, for the report."""
    corpus = str(options.corpus) if options.corpus else None
    return {"file": str(options.data), "corpus_file": corpus, "limit": options.limit}


def open_output(options: ResourceOptions) -> None:
    """Make the output folder, or open that of a run to resume.

    Raises:
        DataError: the folder holds something else, or cannot be written.
    """
    out = options.out
    free = not out.exists() or (out / RESULTS).is_file() or is_empty(out)
    if not free and not options.overwrite:
        raise DataError(f"{out}: exists already and holds no {RESULTS}; give --overwrite to replace it")
    with writing(out):
        if options.overwrite and out.is_dir():
            shutil.rmtree(out)
        elif options.overwrite:
            out.unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        remove_sums(out)


def run_all(
    options: ResourceOptions, systems: Sequence[System], data: MultihopData
) -> list[tuple[System, list[QuestionResult]]]:
    """The results of the systems, one after the other; results in the output folder are not computed again."""
    size, share = options.batch_size, options.max_failure_share
    with ResultLog(options.out / RESULTS) as log:
        return [
            (one, run_system(one, data, log, batch_size=size, max_failure_share=share, progress=True))
            for one in systems
        ]
