"""A small part of the campaign; `make campaign` runs all of it. In a process of its own, since it forks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from . import forks
from .outcomes import BAD, LINE, LOST, OTHER, RIGHT, TRACEBACK, Outcome, judged, table

ROOT = Path(__file__).parents[2]


def ended(code, error="", hung=False):
    return forks.Ended(code, "", error, 1.0, hung)


@pytest.mark.parametrize(
    ("end", "wrong", "kind"),
    [
        (ended(0), "", RIGHT),
        (ended(0), "another file", OTHER),
        (ended(1, "bgr ask: error: a.txt: no such file\n"), "", LINE),
        (ended(2, "bgr ask: error: unknown option --x (see bgr ask --help)\n"), "", LINE),
        (ended(1, "Traceback (most recent call last):\n…\nbgr ask: error: x\n"), "", TRACEBACK),
        (ended(1, "bgr ask: error: 'NoneType' object has no attribute 'x'\n"), "", TRACEBACK),
        (ended(1, "one\ntwo\n"), "", TRACEBACK),
        (ended(70, "bgr ask: error: x\n"), "", TRACEBACK),
        (ended(-6, "memory allocation of 9 bytes failed\n"), "", TRACEBACK),
        (ended(0, hung=True), "", TRACEBACK),
    ],
)
def test_outcomes_are_told_apart(end, wrong, kind):
    assert judged(end, wrong)[0] == kind


def test_the_table_counts_by_kind():
    found = [Outcome("kill -9", "predict", "1", RIGHT), Outcome("kill -9", "predict", "2", LOST)]
    assert "| kill -9 | predict | 1 | 0 | 0 | 0 | 1 |" in table(found)
    assert table(found).rstrip().endswith("| all |  | 1 | 0 | 0 | 0 | 1 |")


def run(out, *words):
    command = [sys.executable, "-m", "tests.campaign", "--quick", "--out", str(out), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    record = json.loads((out / "campaign.json").read_text()) if (out / "campaign.json").is_file() else {}
    return done, record


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(("kills",), marks=pytest.mark.slow),
        pytest.param(("inputs", "replies"), marks=pytest.mark.workflow),
        pytest.param(("pairs", "read-only", "memory", "changes"), marks=pytest.mark.slow),
    ],
)
def test_a_small_part(parts, tmp_path):
    done, record = run(tmp_path, "--parts", *parts)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "threads before the first fork: 1\n" in done.stdout
    assert record["bad"] == []
    assert sum(one.get(kind, 0) for one in record["counts"] for kind in (RIGHT, LINE)) > 0
    assert not any(one.get(kind) for one in record["counts"] for kind in BAD)
