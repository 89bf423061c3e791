"""Step 5: two judges of how much each candidate is needed, given question and bridge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.collection.corpus import Passage
from bgr.llm.interface import Alternatives, Message, Request
from bgr.llm.language_model import LanguageModel, ParsedReply, Reply, field_of
from bgr.llm.structured import Schema, object_of, row_of
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.steps import NONE, BridgeSettings, Entities, prompt, read
from bgr.retrievers.llm_retriever import passage_lines

TOP_LOGPROBS = 20
"""Number of first tokens that are searched for yes and no; servers allow no more."""


@dataclass(frozen=True)
class Case:
    """The input of a judge for one question.

    Args:
        candidates: the pool.
        bridge: the text of the bridge, or of a substitute; ``None`` judges by the question alone.
        entities: entities that the judge is told with the bridge.
    """

    question: str
    candidates: Sequence[Passage]
    bridge: str | None = None
    entities: Entities = NONE

    @property
    def values(self) -> dict[str, str]:
        """The values of the placeholders in every judge's prompt."""
        if self.bridge is None:
            return {"question": self.question}
        first, second = (entity or "(not named)" for entity in self.entities)
        return {"question": self.question, "bridge": self.bridge, "first": first, "second": second}


class Judge(ABC):
    """Base class. A failed step has no scores (``None``); the caller then orders by SVO cosine alone."""

    def __init__(self, settings: BridgeSettings) -> None:
        self.settings = settings

    @abstractmethod
    def __call__(self, llm: LanguageModel, cases: Sequence[Case]) -> list[ParsedReply]:
        """For each case a list with one score for each candidate, or ``None``; all in one batch of requests."""


class ScoreJudge(Judge):
    """One call for each question: an object with exactly one whole number for each candidate."""

    def __call__(self, llm: LanguageModel, cases: Sequence[Case]) -> list[ParsedReply]:
        replies = llm.ask([self.request(case) for case in cases]) if cases else []
        return [read_scores(reply, len(case.candidates)) for case, reply in zip(cases, replies, strict=True)]

    def request(self, case: Case) -> Request:
        """The call of one case."""
        count, most = len(case.candidates), self.settings.most
        candidates = passage_lines(case.candidates)
        step = "judge_plain" if case.bridge is None else "judge"
        text = prompt(step, **case.values, candidates=candidates, count=str(count), most=str(most))
        schema = scores_schema(count, most)
        return Request("bridgerag.judge", (Message("user", text),), schema, max(self.settings.max_tokens, 8 * count))


class ProbabilityJudge(Judge):
    """One call for each candidate: the probability of "yes" against "no" as the reply's first token. The backend must
    give log-probabilities. If one candidate fails, its whole question has no scores."""

    def __call__(self, llm: LanguageModel, cases: Sequence[Case]) -> list[ParsedReply]:
        requests = [self.request(case, passage) for case in cases for passage in case.candidates]
        replies = iter(llm.ask(requests) if requests else [])
        return [_all([_read_yes(next(replies)) for _ in case.candidates]) for case in cases]

    def request(self, case: Case, passage: Passage) -> Request:
        """The call of one candidate."""
        text = prompt("yes_no_plain" if case.bridge is None else "yes_no", **case.values, candidate=passage.whole)
        return Request("bridgerag.judge", (Message("user", text),), None, 1, top_logprobs=TOP_LOGPROBS)


def scores_schema(count: int, most: int) -> Schema:
    """The schema of a reply with exactly `count` scores, 0 … `most`."""
    return object_of(scores=row_of({"type": "integer", "minimum": 0, "maximum": most}, count))


def read_scores(reply: Reply, count: int) -> ParsedReply:
    """Exactly `count` finite numbers of any scale; ``None`` if the step failed."""
    rows = field_of(reply.value, "scores", list) or []
    valid = len(rows) == count and all(map(_is_score, rows))
    return read(reply, [float(row) for row in rows] if valid else None, valid, None, f"no list of {count} scores")


def yes_share(first: Alternatives) -> float | None:
    """``P(yes) / (P(yes) + P(no))``, each summed over variants of case and white space; ``None`` if neither is among
    the alternatives. An alternative whose log-probability is NaN does not count."""
    sums = {"yes": 0.0, "no": 0.0}
    for token, value in first:
        word = token.strip(" \t\n\r\"'`*.,:Ġ▁").lower()
        if word in sums and not math.isnan(value):
            sums[word] += math.exp(min(value, 0.0))
    both = sums["yes"] + sums["no"]
    return sums["yes"] / both if both else None


def _read_yes(reply: Reply) -> ParsedReply:
    share = yes_share(reply.first)
    return read(reply, share, share is not None, None, "neither yes nor no among its first tokens")


def _all(reads: Sequence[ParsedReply]) -> ParsedReply:
    """The scores of a question's candidates; none if one is missing."""
    usage = sum((one.usage for one in reads), Usage())
    failures = [one.failure for one in reads if one.failure is not None]
    if failures:
        return ParsedReply(None, f"{len(failures)} of {len(reads)} candidates: {failures[0]}", usage)
    return ParsedReply([one.value for one in reads], None, usage)


def _is_score(value: Any) -> bool:
    return type(value) in (int, float) and -1e9 < value < 1e9
