"""Damaged knowledge bases, questions with programs, datasets and released files, with the oracles of `tests.mutations`.

They compare the statements and samples that the damage did not touch, whatever way they are read.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ..mutations import test_datasets, test_sources
from ..mutations.campaign import Case
from ..mutations.conftest import hashed_words
from ..mutations.datasets import dataset_cases, released_cases
from ..mutations.oracle import Baseline
from ..mutations.sources import knowledge_base_cases, question_cases
from . import forks
from .outcomes import OTHER, RIGHT, TRACEBACK, Outcome

PART = "damaged input"
BATCH = 10
"""Number of cases of one process, which builds the whole dataset first."""

KINDS: dict[str, Callable[[Path], Sequence[Case]]] = {
    "knowledge base": knowledge_base_cases,
    "questions with programs": question_cases,
    "dataset, all readers": dataset_cases,
    "released files": released_cases,
}


def attack(world: Path, home: Path, count: int, seed: int, jobs: int = 1) -> Iterator[Outcome]:
    """`count` damaged files, a quarter of each kind."""
    home = home / "sources"
    shutil.rmtree(home, ignore_errors=True)
    tasks = []
    for kind in KINDS:
        numbers = range(count // len(KINDS))
        batches = [numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH)]
        places = [(kind, batch, home / f"{kind}-{batch.start}") for batch in batches]
        tasks += [(place, partial(_tried, *place, world, seed)) for place in places]
    for (kind, batch, place), ended in forks.many(tasks, home / "logs", jobs, seconds=600):
        if ended.code or ended.hung:
            yield Outcome(PART, kind, f"cases {batch}", TRACEBACK, ended.error[-1500:])
            continue
        for name, problems in json.loads((place / "found.json").read_text()):
            # the oracles count refusals in one line and right results alike
            bad = OTHER if any("changed" in one for one in problems) else TRACEBACK
            yield Outcome(PART, kind, name, bad if problems else RIGHT, "; ".join(problems)[:1500])
        shutil.rmtree(place, ignore_errors=True)


def _tried(kind: str, batch: Sequence[int], place: Path, world: Path, seed: int) -> int:
    from ..conftest import WordEncoder

    with hashed_words(WordEncoder()):
        return _in_turn(kind, batch, place, world, seed)


def _in_turn(kind: str, batch: Sequence[int], place: Path, world: Path, seed: int) -> int:
    from bgr.cli import main

    place.mkdir(parents=True)
    source, data, released = world / "source", place / "whole", place / "released"
    assert main(["data", "build", "--kqapro", str(source), "--out", str(data), "--joined-probability", "0"]) == 0
    assert main(["data", "convert", str(data), str(released), "--to", "released"]) == 0
    baseline = Baseline.of(source, data)
    whole = {"knowledge base": source, "questions with programs": source, "dataset, all readers": data}.get(
        kind, released
    )
    cases = list(KINDS[kind](whole))
    chosen = random.Random(f"{seed}|{kind}").sample(cases, len(cases))
    found = []
    for number in batch:
        case = chosen[number % len(chosen)]
        tmp = place / f"case-{number}"
        tmp.mkdir()
        if whole == source:
            problems = test_sources.outcome_of(case, source, baseline, tmp)
        elif whole == data:
            problems = test_datasets.problems_of_dataset(case, number, data, tmp)
        else:
            problems = test_datasets.problems_of_released(case, number, released, tmp)
        found.append((case.name, problems))
    (place / "found.json").write_text(json.dumps(found))
    return 0
