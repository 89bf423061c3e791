"""Failures of calls that end a run: all calls of a step, or more than a share of the questions."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.llm.interface import Completion, LlmError, Result

ALL_FAILED = 4
"""Number of failed calls of a step, without an answered one, at which the step is given up."""

RESUME = "answered calls are not lost: run again to resume"


@dataclass
class _Step:
    answered: int = 0
    failed: int = 0
    error: str = ""
    same: bool = True


class StepFailures:
    """Counts the calls of each step. A step of which no call was ever answered, and every call failed with one error,
    is given up: its questions would all get the method's fall-back, and the results would look like those of another
    method. It may be used by several threads."""

    def __init__(self) -> None:
        self._steps: dict[str, _Step] = {}
        self._lock = threading.Lock()

    def check(self, calls: Sequence[tuple[str, Result]]) -> None:
        """Add a batch of calls, each with its step.

        Raises:
            LlmError: all calls of a step failed with one error, and there were several.
        """
        with self._lock:
            failed: dict[str, int] = {}
            for name, result in calls:
                step = self._steps.setdefault(name, _Step())
                if isinstance(result, Completion):
                    step.answered += 1
                    continue
                failed[name] = failed.get(name, 0) + 1
                step.failed += 1
                step.same &= not step.error or _kind(step.error) == _kind(str(result))
                step.error = step.error or str(result)
            for name, count in failed.items():
                step = self._steps[name]
                if not step.answered and step.same and (step.failed >= ALL_FAILED or 1 < count == step.failed):
                    raise LlmError(f"all {step.failed} calls of step {name} failed: {step.error}; {RESUME}")


class FailureLimit:
    """Counts the questions (or passages) of a run for which a call was never answered.

    Args:
        share: share of `total` that may fail.
        noun: singular noun for an item.
    """

    def __init__(self, share: float, total: int, noun: str = "question") -> None:
        self.share, self.total, self.noun = share, total, noun
        self.failed = 0

    def add(self, failed: int, failure: str | None) -> None:
        """Count items that failed; `failure` is one line for the message.

        Raises:
            LlmError: more than the share have failed.
        """
        self.failed += failed
        if failed and self.failed > self.share * self.total:
            counts = f"{self.failed:,} of {self.total:,} {self.noun}s have failed calls"
            why = failure or "no reason given"
            raise LlmError(f"{counts}, more than --max-failure-share {self.share:g} allows: {why}; {RESUME}")


def failure_in(trace: Sequence[Mapping[str, Any]]) -> str | None:
    """The first failure of a call that a trace records."""
    for step in trace:
        if step.get("failure") and (step.get("usage") or {}).get("unanswered"):
            return str(step["failure"])
    return None


def _kind(error: str) -> str:
    """An error without its numbers, which differ from call to call."""
    return re.sub(r"\d+", "", error)
