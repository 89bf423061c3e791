"""How much faster the indexed executor is than `kopl` on the same programs in the same run, and whether they agree.

Programs of questions in KQA Pro's form, drawn by seed.
"""

from __future__ import annotations

import gc
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.build import build_knowledge_base
from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.errors import DataError, ProgramError
from bgr.utils.atomic_io import read_json
from eval.bench.kopl_result import KoplBench, count_functions
from eval.bench.options import KoplOptions
from eval.bench.reference.kopl_reference import Answer, KoplReference, ordered_sets
from eval.bench.reference.random_programs import random_programs


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


MAX_FACTS = 24
"""Facts of an evidence graph at most (paper, section 3.2); a run with provenance stops beyond."""

REFUSALS = (ProgramError, KeyError, ValueError, IndexError, TypeError, AssertionError)
"""How an executor refuses a program; kopl has no errors of its own."""

PASSES = 5
"""Each side goes through all programs so often. Of each program the quickest run counts, the one that other work on the
machine disturbed least; whole passes, so that no program finds in the processor's cache what it left there itself."""

MANY = 20_000
"""From so many programs on one pass has to do: what disturbs single programs no longer weighs."""

WITH_FACTS = 2000
"""With facts at most so many of the programs are run: random ones may rest on all that the base holds."""

BLOCK = 50
"""Programs between two steps of the progress bar."""


def bench_kopl_files(options: KoplOptions) -> KoplBench:
    """Run the programs that the options choose through kopl and through ours; see `bench_kopl`."""
    with tempfile.TemporaryDirectory() as built:
        folder = options.kqapro or Path(built)
        if options.kqapro is None:
            write_small_atlas(folder, 0 if options.random else options.programs, options.seed)
        programs = None if options.random else read_programs(folder, options.programs, options.seed)
        return bench_kopl(folder, programs, count=options.programs, seed=options.seed)


def write_small_atlas(folder: Path, questions: int, seed: int) -> None:
    """Write ``kb.json``, and ``train.json`` with that many questions if there are to be any."""
    records = build_knowledge_base(seed=seed)
    (folder / "kb.json").write_text(json.dumps(records), encoding="utf-8")
    if questions:
        found = sample_questions(KnowledgeBase(records), count=questions, seed=seed)
        (folder / "train.json").write_text(json.dumps(found), encoding="utf-8")


def bench_kopl(
    folder: str | Path,
    programs: Sequence[Program] | None = None,
    *,
    count: int = 2000,
    seed: int = 0,
    progress: bool = True,
) -> KoplBench:
    """Run programs through kopl and through ours.

    Args:
        folder: holds ``kb.json``.
        programs: the programs; without them `count` random ones over all functions are written, by `seed`.
        count: number of random programs.
        seed: for the random programs.
        progress: show progress bars on standard error.

    Raises:
        BgrError: kopl is not installed, there is no program, or ``kb.json`` cannot be read.
    """
    # ours comes first and alone, the parsed file included: kopl's heap would push it out of the processor's cache
    kb, ours_load = _timed(lambda: KnowledgeBase.load(Path(folder) / "kb.json"))
    drawn = random_programs(kb, count, random.Random(seed), progress=progress) if programs is None else programs
    if not drawn:
        raise DataError("there is no program to run")
    ours, ours_each = _all(lambda: partial(Executor(kb).answer, strict=False), drawn, "ours", progress)
    some = drawn[:WITH_FACTS]
    _, provenance_each = _all(lambda: partial(_with_facts, Executor(kb)), some, "with facts", progress)
    reference, kopl_load = _timed(lambda: KoplReference(read_json(Path(folder) / "kb.json")))
    kopl, kopl_each = _all(lambda: reference.answer, drawn, "kopl", progress)
    unequal = [i for i in range(len(drawn)) if not _same(kopl[i], ours[i])]
    with ordered_sets():
        ordered, _ = _all(lambda: reference.answer, [drawn[i] for i in unequal], "ties", progress=False)
    differing = [i for i, answer in zip(unequal, ordered, strict=True) if answer != ours[i]]
    return KoplBench(
        entities=len(kb.entities),
        programs=len(drawn),
        equal=len(drawn) - len(unequal),
        tied=len(unequal) - len(differing),
        differing=tuple(f"{drawn[i].where}: kopl {kopl[i]!r}, ours {ours[i]!r}" for i in differing),
        kopl_load=kopl_load,
        ours_load=ours_load,
        kopl_seconds=sum(kopl_each),
        ours_seconds=sum(ours_each),
        median_ratio=median(a / b for a, b in zip(kopl_each, ours_each, strict=True)),
        with_facts=len(some),
        provenance_seconds=sum(provenance_each),
        functions=count_functions(drawn),
    )


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _with_facts(executor: Executor, program: Program) -> Answer:
    return executor.run(program, strict=False, max_facts=MAX_FACTS).answer


def _all(
    start_pass: Callable[[], Callable[[Program], Answer]], programs: Sequence[Program], name: str, progress: bool
) -> tuple[list[Answer | None], list[float]]:
    """The answer of each program, ``None`` where it fails, and the seconds of its quickest pass.

    `start_pass` gives the function that answers, anew for each pass, from an executor that has answered nothing yet.
    """
    passes = PASSES if len(programs) < MANY else 1
    answers: list[Answer | None] = [None] * len(programs)
    quickest = [math.inf] * len(programs)
    gc.freeze()  # the collector does not walk through what was loaded while the clock runs
    with tqdm(total=passes * len(programs), desc=name, disable=not progress) as bar:
        for _ in range(passes):
            answer = start_pass()
            for index, program in enumerate(programs):
                start = time.perf_counter()
                try:
                    answers[index] = answer(program)
                except REFUSALS:
                    answers[index] = None
                quickest[index] = min(quickest[index], time.perf_counter() - start)
                if index % BLOCK == BLOCK - 1:
                    bar.update(BLOCK)
            bar.update(len(programs) % BLOCK)
    gc.unfreeze()
    return answers, quickest


def _same(a: Answer | None, b: Answer | None) -> bool:
    return sorted(a) == sorted(b) if isinstance(a, list) and isinstance(b, list) else a == b
