"""A damaged dataset or released files: `bgr data verify` reports it, and every command ends correctly."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from datasets import load_from_disk

from bgr.cli import main
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import HASHED_FILES, load_split
from bgr.errors import BgrError

from .campaign import MANY_OR_ALL, Case, run, sample
from .cases import read
from .datasets import dataset_cases, released_cases, sealed
from .oracle import samples

QUICK = 8
"""Number of cases for each kind of folder in the default run."""
_FORGIVEN = re.compile(r"candidates \d+ and \d+ are equal|, step \d+|the program has|its program is of type")
OTHERS = (["stats"], ["stats", "--json"], ["show", "--split", "train", "--number", "3"], ["leakage"], ["quality"])
"""Commands that users may run on a dataset without verifying it."""


def problems_of_dataset(case: Case, number: int, data: Path, home: Path) -> list[str]:
    """The problems of the commands' outcomes for one case."""
    harmed, out = home / "dataset", home / "out"
    shutil.copytree(data, harmed)
    try:
        case.harm(harmed)
        verified = run(["data", "verify", harmed], home)
        action, *more = OTHERS[number % len(OTHERS)]
        other = run(["data", action, harmed, *more], home)
        converted = run(["data", "convert", harmed, out, "--to", "released"], home)
        found = [outcome.problem for outcome in (verified, other, converted) if outcome.problem]
        if not verified.code and _contents(harmed) != _contents(data):
            found.append("verify finds nothing")
        # a wrong dataset may have a matching hash, so that the samples themselves must be checked
        sealed(harmed)
        again = run(["data", "verify", harmed], home)
        return [*found, *([again.problem] if again.problem else []), *_lost(case, data, harmed)]
    finally:
        shutil.rmtree(harmed)
        shutil.rmtree(out, ignore_errors=True)


def problems_of_released(case: Case, number: int, released: Path, home: Path) -> list[str]:
    """The problems of the outcome of `bgr data convert` for one case."""
    harmed, out = home / "released", home / "out"
    shutil.copytree(released, harmed)
    try:
        case.harm(harmed)
        outcome = run(["data", "convert", harmed, out, "--to", "bgr"], home)
        if outcome.problem or outcome.code:
            return [outcome.problem] if outcome.problem else []
        # released facts may be repeated and programs are not checked; only verify reports these
        verified = run(["data", "verify", out], home)
        if verified.problem or (verified.code and not _FORGIVEN.search(verified.error)):
            return [verified.problem or f"converted, but not valid: {verified.error}"]
        before = {example.question: example for example in _of_released(released)}
        after = {example.question: example for example in samples(out)}
        far = [q for q in before if case.item is not None and q != case.item]
        return [f"{q}: changed" for q in far if _said(after.get(q)) != _said(before[q])]
    finally:
        shutil.rmtree(harmed)
        shutil.rmtree(out, ignore_errors=True)


def _of_released(folder: Path) -> list:
    from bgr.data.reasongraphqa.io.convert import FILES, read_released

    return [example for split, file in FILES.items() for example in read_released(folder / file, split)]


def _said(example) -> object:
    return example and (example.answer, example.facts, example.graph, example.type)


def _contents(folder: Path) -> dict[str, object]:
    """The parsed content of a verified dataset's files."""
    tables = load_from_disk(str(folder / "arrow"))
    found = {name: read(folder / name) for name in HASHED_FILES}
    return {**found, "sha256": read(folder / "dataset.json")["sha256"], **{s: tables[s].to_list() for s in SPLITS}}


def _lost(case: Case, data: Path, harmed: Path) -> list[str]:
    """Samples that were not damaged but are read differently."""
    if case.item is None:
        return []
    try:
        after = {example.question: example for example in load_split(harmed, "train")}
    except BgrError:
        return []
    before = load_split(data, "train")
    return [f"{e.question}: changed" for e in before if e.question != case.item and after.get(e.question) != e]


def failures(problems_of, cases: Sequence[Case], folder: Path, home: Path) -> list[str]:
    found = []
    for number, case in enumerate(cases):
        try:
            problems = problems_of(case, number, folder, home)
        except Exception as error:
            problems = [f"the check itself failed: {type(error).__name__}: {error}"]
        found += [f"{case.name}: {problem}" for problem in problems]
    return found


@pytest.fixture(scope="module")
def released(data: Path) -> Path:
    out = data.parent / "released"
    assert main(["data", "convert", str(data), str(out), "--to", "released"]) == 0
    return out


@pytest.mark.workflow
def test_unharmed(data: Path, released: Path, tmp_path: Path) -> None:
    nothing = Case("nothing", lambda folder: None, "none of the questions")
    for number in range(len(OTHERS)):
        assert problems_of_dataset(nothing, number, data, tmp_path) == []
    assert problems_of_released(nothing, 0, released, tmp_path) == []


def test_some_datasets(data: Path, tmp_path: Path) -> None:
    assert failures(problems_of_dataset, sample(dataset_cases(data), QUICK, "some"), data, tmp_path) == []


def test_some_released(released: Path, tmp_path: Path) -> None:
    assert failures(problems_of_released, sample(released_cases(released), QUICK, "some"), released, tmp_path) == []


@MANY_OR_ALL
def test_more_datasets(data: Path, tmp_path: Path, count: int) -> None:
    everything = dataset_cases(data)
    assert len(everything) > 500
    assert failures(problems_of_dataset, sample(everything, count, "more"), data, tmp_path) == []


@MANY_OR_ALL
def test_more_released(released: Path, tmp_path: Path, count: int) -> None:
    everything = released_cases(released)
    assert len(everything) > 200
    assert failures(problems_of_released, sample(everything, count, "more"), released, tmp_path) == []
