"""A damaged knowledge base or damaged questions: an error of one line, a counted drop, or a correct dataset."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from .campaign import MANY_OR_ALL, Case, run, sample
from .oracle import Baseline, wrong_samples
from .sources import knowledge_base_cases, question_cases

QUICK = 8
"""Number of cases for each file in the default run."""


def outcome_of(case: Case, source: Path, baseline: Baseline, home: Path) -> list[str]:
    """The problems of the outcome of one case; the folder is restored."""
    harmed, out = home / "kqapro", home / "data"
    shutil.copytree(source, harmed)
    try:
        case.harm(harmed)
        found, error = _built(case, harmed, out, baseline)
        if not found and error and "not valid JSON" not in error and case.item in baseline.forms:
            # problems of one question may be skipped on request
            found, error = _built(case, harmed, out, baseline, "--skip-bad")
            found = found or ([f"--skip-bad does not pass over it: {error}"] if error else [])
        return found
    finally:
        shutil.rmtree(harmed)
        shutil.rmtree(out, ignore_errors=True)


def _built(case: Case, harmed: Path, out: Path, baseline: Baseline, *more: str) -> tuple[list[str], str]:
    """The problems, and the line with which the command refused the folder."""
    command = ["data", "build", "--kqapro", harmed, "--out", out, "--joined-probability", "0", *more]
    outcome = run(command, harmed.parent)
    if outcome.problem:
        return [outcome.problem], outcome.error
    if outcome.code:
        return [] if str(harmed) in outcome.error else [f"names no file: {outcome.error}"], outcome.error
    sheet = json.loads((out / "dataset.json").read_text())
    dropped = sum(entry["count"] for entry in sheet["dropped"].values())
    counted = sum(sheet["counts"].values()) + dropped == sheet["tried"]
    return wrong_samples(harmed, out, baseline, case.item) + ([] if counted else ["a question is in no count"]), ""


def failures(cases: Sequence[Case], source: Path, baseline: Baseline, home: Path) -> list[str]:
    found = []
    for case in cases:
        try:
            problems = outcome_of(case, source, baseline, home)
        except Exception as error:
            problems = [f"the check itself failed: {type(error).__name__}: {error}"]
        found += [f"{case.name}: {problem}" for problem in problems]
    return found


def test_unharmed(source: Path, data: Path, baseline: Baseline, tmp_path: Path) -> None:
    """The checks accept the undamaged source and find inserted problems."""
    assert wrong_samples(source, data, baseline, None) == []
    assert len(baseline.far_from("F3")) > 30
    assert len(baseline.forms) > 35
    other = shutil.copytree(data, tmp_path / "data")
    text = (other / "train.jsonl").read_text()
    (other / "train.jsonl").write_text(text.replace("82 minute", "82 hours"))
    with pytest.raises(Exception, match="82"):
        assert wrong_samples(source, other, baseline, "F3") == []


@pytest.mark.parametrize("cases", [knowledge_base_cases, question_cases])
def test_some(cases, source: Path, baseline: Baseline, tmp_path: Path) -> None:
    assert failures(sample(cases(source), QUICK, "some"), source, baseline, tmp_path) == []


@MANY_OR_ALL
@pytest.mark.parametrize("cases", [knowledge_base_cases, question_cases])
def test_more(cases, source: Path, baseline: Baseline, tmp_path: Path, count: int) -> None:
    everything = cases(source)
    assert len(everything) > 350
    assert failures(sample(everything, count, "more"), source, baseline, tmp_path) == []
