"""Benchmark of the indexed executor against `kopl` on the same programs, with a comparison of all answers."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bgr.data.atlas.build import build_knowledge_base
from bgr.data.atlas.sampler.sampler import sample_questions
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import FUNCTIONS, Program
from bgr.errors import BgrError, DataError, ProgramError
from bgr.utils.atomic_io import read_json
from eval.bench.measure import BenchResult, table, time_each, timed
from eval.bench.options import KoplOptions
from eval.bench.reference.kopl_reference import Answer, KoplReference, ordered_sets
from eval.bench.reference.random_programs import random_programs

MAX_FACTS = 24
"""Maximum facts of an evidence graph (paper, section 3.2), at which a run with provenance stops."""

REFUSALS = (ProgramError, KeyError, ValueError, IndexError, TypeError, AssertionError)
"""Exceptions with which an executor refuses a program; kopl defines none."""

PASSES = 5
"""Number of passes over all programs. The fastest run of each program counts."""

MANY = 20_000
"""From this number of programs on, a single pass is enough."""

WITH_FACTS = 2000
"""Maximum number of programs that run with facts, since a random program may depend on the whole knowledge base."""


def bench_kopl(options: KoplOptions) -> BenchResult:
    """Run programs with kopl and with our executor.

    The timing starts after both sides have loaded the knowledge base and read the programs; our side has then checked
    them, parsed their values and removed steps that no answer needs. kopl is called function by function along the
    dependencies. Our side caches nothing between programs.

    Returns:
        Times are wall-clock seconds: ``*_load`` for loading the knowledge base from its file, ``*_seconds`` as the sum
        over all programs of the fastest run, with facts over the first `with_facts` programs. `median_ratio` is the
        median over programs of kopl's time divided by ours; it is far below `ratio`, because short programs are fast in
        both. `equal` programs have equal answers (lists without order) or fail on both sides. `tied` programs have
        equal answers only if kopl's sets are in insertion order, because it breaks ties between equal values or units
        by hash order. `functions` counts the programs that contain each function. The error names the first difference.

    Raises:
        BgrError: kopl is not installed, there are no programs, or ``kb.json`` cannot be read.
    """
    with tempfile.TemporaryDirectory() as built:
        folder = options.kqapro or Path(built)
        if options.kqapro is None:
            write_small_atlas(folder, 0 if options.random else options.programs, options.seed)
        programs = None if options.random else read_programs(folder, options.programs, options.seed)
        # ours runs first and alone, including the parsed file, because kopl's heap would displace it in the cache
        kb, ours_load = timed(KnowledgeBase.load, folder / "kb.json")
        if programs is None:
            programs = random_programs(kb, options.programs, random.Random(options.seed), progress=True)
        if not programs:
            raise DataError("there is no program to run")
        ours, ours_each = _run(lambda: partial(Executor(kb).answer, strict=False), programs, "ours")
        some = programs[:WITH_FACTS]
        _, facts_each = _run(lambda: partial(_with_facts, Executor(kb)), some, "with facts")
        reference, kopl_load = timed(lambda: KoplReference(read_json(folder / "kb.json")))
    kopl, kopl_each = _run(lambda: reference.answer, programs, "kopl")
    unequal = [i for i in range(len(programs)) if not _same(kopl[i], ours[i])]
    with ordered_sets():
        ordered, _ = _run(lambda: reference.answer, [programs[i] for i in unequal], "ties")
    different = [i for i, answer in zip(unequal, ordered, strict=True) if answer != ours[i]]
    differing = [f"{programs[i].where}: kopl {kopl[i]!r}, ours {ours[i]!r}" for i in different]
    used = [{step.function for step in program.steps} for program in programs]
    counts = {name: sum(name in names for names in used) for name in FUNCTIONS}
    result = {
        "entities": len(kb.entities),
        "programs": len(programs),
        "equal": len(programs) - len(unequal),
        "tied": len(unequal) - len(differing),
        "differing": differing,
        "kopl_load": kopl_load,
        "ours_load": ours_load,
        "kopl_seconds": sum(kopl_each),
        "ours_seconds": sum(ours_each),
        "median_ratio": median(a / b for a, b in zip(kopl_each, ours_each, strict=True)),
        "with_facts": len(some),
        "provenance_seconds": sum(facts_each),
        "functions": {name: count for name, count in counts.items() if count},
        "ratio": sum(kopl_each) / sum(ours_each),
    }
    error = BgrError(f"{len(differing)} answers differ from kopl's; {differing[0]}") if differing else None
    return BenchResult(_text(result), result, error)


def _with_facts(executor: Executor, program: Program) -> Answer:
    return executor.run(program, strict=False, max_facts=MAX_FACTS).answer


def _run(
    start_pass: Callable[[], Callable[[Program], Any]], programs: Sequence[Program], name: str
) -> tuple[list[Any], list[float]]:
    """See `time_each`; `start_pass` returns the function of a new executor for each pass."""
    passes = PASSES if len(programs) < MANY else 1
    return time_each(((start_pass(), programs) for _ in range(passes)), name, REFUSALS)


def _same(a: Answer | None, b: Answer | None) -> bool:
    return sorted(a) == sorted(b) if isinstance(a, list) and isinstance(b, list) else a == b


def _text(result: Mapping[str, Any]) -> str:
    functions, count = result["functions"], result["programs"]
    rarest = min(functions, key=functions.__getitem__)
    loads, sums = ((result[f"kopl_{part}"], result[f"ours_{part}"]) for part in ("load", "seconds"))
    with_facts = result["provenance_seconds"] / result["with_facts"] * 1e6
    rows = [
        ("", "kopl", "ours", "ratio"),
        ("load, s", *(f"{seconds:.2f}" for seconds in loads), f"{loads[0] / loads[1]:.1f}"),
        ("answer, s", *(f"{seconds:.3f}" for seconds in sums), f"{result['ratio']:.1f}"),
        ("each, us", *(f"{seconds / count * 1e6:.1f}" for seconds in sums), ""),
        ("median", "", "", f"{result['median_ratio']:.1f}"),
        ("with facts, us", "-", f"{with_facts:.1f}", "-"),
    ]
    return (
        f"{count} programs over {result['entities']} entities: {result['equal']} answers equal, {result['tied']} equal "
        f"except for ties that kopl breaks by hash order, {len(result['differing'])} different\n"
        f"{len(functions)} of {len(FUNCTIONS)} functions, the rarest, {rarest}, in {functions[rarest]} "
        f"programs\n{table(rows)}"
    )


def read_programs(folder: str | Path, count: int, seed: int = 0) -> list[Program] | None:
    """Sample `count` programs of ``train.json`` and ``val.json`` in a KQA Pro folder, or take all if there are fewer;
    ``None`` if the folder has neither file.

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


def write_small_atlas(folder: Path, questions: int, seed: int) -> None:
    """Write ``kb.json``, and ``train.json`` with that many questions if there are to be any."""
    records = build_knowledge_base(seed=seed)
    (folder / "kb.json").write_text(json.dumps(records), encoding="utf-8")
    if questions:
        found = sample_questions(KnowledgeBase(records), count=questions, seed=seed)
        (folder / "train.json").write_text(json.dumps(found), encoding="utf-8")
