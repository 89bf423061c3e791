"""Benchmark of the indexed executor against `kopl` on the same programs, with a comparison of all answers."""

from __future__ import annotations

import gc
import json
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.build import build_knowledge_base
from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import FUNCTIONS, Program
from bgr.errors import BgrError, DataError, ProgramError
from bgr.utils.atomic_io import read_json
from eval.bench.options import KoplOptions
from eval.bench.reference.kopl_reference import Answer, KoplReference, ordered_sets
from eval.bench.reference.random_programs import random_programs


@dataclass(frozen=True)
class KoplBench:
    """The result. Times are wall-clock seconds: `*_load` for loading the knowledge base from its file, `*_seconds` as
    the sum over all programs of the fastest run, with facts over the first `with_facts` programs. `median_ratio` is the
    median over programs of kopl's time divided by ours; it is far below `ratio`, because short programs are fast in
    both.

    The timing starts after both sides have loaded the knowledge base and read the programs; our side has then checked
    them, parsed their values and removed steps that no answer needs. kopl is called function by function along the
    dependencies. Our side caches nothing between programs.

    `equal` programs have equal answers (lists without order) or fail on both sides. `tied` programs have equal answers
    only if kopl's sets are in insertion order, because it breaks ties between equal values or units by hash order.
    `functions` counts the programs that contain each function.
    """

    entities: int
    programs: int
    equal: int
    tied: int
    differing: tuple[str, ...]
    kopl_load: float
    ours_load: float
    kopl_seconds: float
    ours_seconds: float
    median_ratio: float
    with_facts: int
    provenance_seconds: float
    functions: Mapping[str, int]

    @property
    def ratio(self) -> float:
        """Ratio of kopl's time to ours over all programs."""
        return self.kopl_seconds / self.ours_seconds

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        rows = [
            ("", "kopl", "ours", "ratio"),
            ("load, s", f"{self.kopl_load:.2f}", f"{self.ours_load:.2f}", f"{self.kopl_load / self.ours_load:.1f}"),
            ("answer, s", f"{self.kopl_seconds:.3f}", f"{self.ours_seconds:.3f}", f"{self.ratio:.1f}"),
            ("each, us", *(f"{s / self.programs * 1e6:.1f}" for s in (self.kopl_seconds, self.ours_seconds)), ""),
            ("median", "", "", f"{self.median_ratio:.1f}"),
            ("with facts, us", "-", f"{self.provenance_seconds / self.with_facts * 1e6:.1f}", "-"),
        ]
        table = "\n".join(f"{name:<16}{kopl:>10}{ours:>10}{ratio:>9}" for name, kopl, ours, ratio in rows)
        rarest = min(self.functions, key=lambda name: self.functions[name])
        return (
            f"{self.programs} programs over {self.entities} entities: {self.equal} answers equal, {self.tied} equal "
            f"except for ties that kopl breaks by hash order, {len(self.differing)} different\n"
            f"{len(self.functions)} of {len(FUNCTIONS)} functions, the rarest, {rarest}, in {self.functions[rarest]} "
            f"programs\n{table}"
        )


def count_functions(programs: Iterable[Program]) -> dict[str, int]:
    """Number of programs that contain each function, for functions that occur."""
    used = [{step.function for step in program.steps} for program in programs]
    counts = {name: sum(name in names for names in used) for name in FUNCTIONS}
    return {name: count for name, count in counts.items() if count}


def check(bench: KoplBench) -> None:
    """Check that both sides agree.

    Raises:
        BgrError: answers differ; the message shows the first difference.
    """
    if bench.differing:
        raise BgrError(f"{len(bench.differing)} answers differ from kopl's; {bench.differing[0]}")


def read_programs(folder: str | Path, count: int, seed: int = 0) -> list[Program] | None:
    """Sample `count` programs of ``train.json`` and ``val.json`` in a KQA Pro folder, or take all if there are fewer.

    Returns:
        The programs; ``None`` if the folder has neither file.

    Raises:
        DataError: a file is not a list of questions, or a question has no program.
        ProgramError: a program is malformed; the message names file and item.
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
"""Maximum facts of an evidence graph (paper, section 3.2), at which a run with provenance stops."""

REFUSALS = (ProgramError, KeyError, ValueError, IndexError, TypeError, AssertionError)
"""Exceptions with which an executor refuses a program; kopl defines none."""

PASSES = 5
"""Number of passes over all programs. The fastest run of each program counts. Complete passes ensure that no program
benefits from its own data in the processor's cache."""

MANY = 20_000
"""From this number of programs on, a single pass is enough."""

WITH_FACTS = 2000
"""Maximum number of programs that run with facts, since a random program may depend on the whole knowledge base."""

BLOCK = 50
"""Programs between two updates of the progress bar."""


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
    """Run programs with kopl and with our executor.

    Args:
        folder: folder with ``kb.json``.
        programs: the programs; by default `count` random ones over all functions.
        count: number of random programs.
        seed: random seed of the random programs.
        progress: show progress bars on standard error.

    Raises:
        BgrError: kopl is not installed, there are no programs, or ``kb.json`` cannot be read.
    """
    # ours runs first and alone, including the parsed file, because kopl's heap would displace it in the cache
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
    """The answer of each program (``None`` for a failure) and the seconds of its fastest pass.

    `start_pass` returns the answering function of a new executor for each pass.
    """
    passes = PASSES if len(programs) < MANY else 1
    answers: list[Answer | None] = [None] * len(programs)
    fastest = [math.inf] * len(programs)
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
                fastest[index] = min(fastest[index], time.perf_counter() - start)
                if index % BLOCK == BLOCK - 1:
                    bar.update(BLOCK)
            bar.update(len(programs) % BLOCK)
    gc.unfreeze()
    return answers, fastest


def _same(a: Answer | None, b: Answer | None) -> bool:
    return sorted(a) == sorted(b) if isinstance(a, list) and isinstance(b, list) else a == b
