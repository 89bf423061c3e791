"""Outcomes of the campaign by kind, and their table in Markdown and JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..mutations.campaign import CLEAR, UNCLEAR
from .forks import Ended

RIGHT, LINE, TRACEBACK, OTHER, LOST = KINDS = ("right", "one line", "traceback", "silently other", "lost")
"""The right result; refused in one line on standard error; any other end (also: hung, aborted, a line that explains
nothing); exit code 0 with another result; a finished result that is gone."""

BAD = (TRACEBACK, OTHER, LOST)
MAX_LINE = 700
PREFIX = re.compile(r"bgr\b[ \w]*: error: ")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one attack.

    Args:
        part: what was attacked, such as ``kill -9``.
        target: a command or a kind of file.
        case: what was done.
        kind: one of `KINDS`.
        detail: of a bad outcome, what was seen.
    """

    part: str
    target: str
    case: str
    kind: str
    detail: str = ""


def judged(ended: Ended, result: str) -> tuple[str, str]:
    """Kind and detail of an outcome.

    Args:
        ended: how the command ended.
        result: what is wrong with the result of exit code 0; empty if it is right.
    """
    if ended.hung:
        return TRACEBACK, f"hung for {ended.seconds:.0f} s: {ended.last[-300:]}"
    if ended.code == 0:
        return (OTHER, result) if result else (RIGHT, "")
    lines = [line for line in re.split(r"[\n\r]", ended.error) if PREFIX.match(line)]
    last = ended.last
    if ended.code not in (1, 2) or len(lines) != 1 or last != lines[0] or "Traceback" in ended.error:
        return TRACEBACK, f"exit code {ended.code}: {ended.error[-1500:]}"
    if len(last) > MAX_LINE or (UNCLEAR.search(last) and not CLEAR.search(last)):
        return TRACEBACK, f"unclear: {last[:MAX_LINE]}"
    return LINE, last


def table(outcomes: Iterable[Outcome]) -> str:
    """A row for each part and target, with the number of outcomes of each kind."""
    counts = _counted(outcomes)
    rows = [["part", "target", *KINDS]]
    rows += [[part, target, *(str(found[kind]) for kind in KINDS)] for (part, target), found in counts.items()]
    total = sum(counts.values(), Counter())
    rows.append(["all", "", *(str(total[kind]) for kind in KINDS)])
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"| --- | --- |{' ---: |' * len(KINDS)}", *body]) + "\n"


def _counted(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in outcomes:
        counts.setdefault((one.part, one.target), Counter())[one.kind] += 1
    return counts


def write(outcomes: list[Outcome], seconds: Mapping[str, float], settings: Mapping[str, Any], folder: Path) -> None:
    """``campaign.md`` with the table, and ``campaign.json`` with the counts, the bad outcomes and the seconds of each
    part."""
    folder.mkdir(parents=True, exist_ok=True)
    bad = [one for one in outcomes if one.kind in BAD]
    took = ", ".join(f"{part} {time:.0f} s" for part, time in seconds.items())
    lines = ["# Campaign", "", ", ".join(f"{name}: {value}" for name, value in settings.items()), "", table(outcomes)]
    lines += [f"Time: {took}.", "", *(_shown(bad) if bad else ["No bad outcome."]), ""]
    (folder / "campaign.md").write_text("\n".join(lines))
    counts = [{"part": part, "target": target, **found} for (part, target), found in _counted(outcomes).items()]
    record = {"settings": dict(settings), "seconds": dict(seconds), "counts": counts, "bad": [asdict(b) for b in bad]}
    (folder / "campaign.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _shown(bad: list[Outcome]) -> Iterator[str]:
    yield "## Bad outcomes"
    for one in bad:
        yield f"\n**{one.kind}**: {one.part}, {one.target}: {one.case}\n\n```\n{one.detail}\n```"
