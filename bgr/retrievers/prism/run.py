"""One question on its way through PRISM's steps, with its record of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.llm.language_model import ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.prism.candidates import Candidates, Reference
from bgr.retrievers.prism.evidence import Evidence, added, merged, nearest_sub_question, ordered_graph
from bgr.retrievers.prism.replies import Named


@dataclass
class Run:
    """A question, what it may choose from, and what was chosen so far.

    `purpose` is the sub-question (from 0) that a reply said a sentence is for, and after `merge` that of all evidence;
    `rounds` the evidence at the end of each round; `dropped` counts names of sentences that do not exist.
    """

    question: str
    candidates: Candidates
    sub_questions: list[str]
    evidence: Evidence = ()
    purpose: dict[Reference, int] = field(default_factory=dict)
    rounds: list[Evidence] = field(default_factory=list)
    dropped: int = 0
    answer: str | None = None
    usage: Usage = field(default_factory=Usage)
    trace: list[dict[str, Any]] = field(default_factory=list)

    @property
    def merged(self) -> Evidence:
        """The union of the rounds."""
        return merged(self.rounds)

    def add(self, named: dict[Reference, int | None]) -> None:
        """The adder's rule; what a sentence is first said to be for stays."""
        self.evidence = added(self.evidence, named)
        for one, purpose in named.items():
            if purpose is not None:
                self.purpose.setdefault(one, purpose)

    def note(self, step: str, number: int | None, read: ParsedReply, **values: Any) -> None:
        """The record of a call, of a round where there is one; its usage counts."""
        self.usage += read.usage
        where = {} if number is None else {"round": number}
        self.trace.append({"step": step, **where, **values, "failure": read.failure, "usage": read.usage.to_json()})

    def note_agent(self, step: str, number: int, read: ParsedReply, **values: Any) -> None:
        """The record of an agent: the evidence after it, and what it named that does not exist."""
        named: Named = read.value
        self.dropped += len(named.dropped)
        self.note(step, number, read, **values, evidence=_rows(self.evidence), dropped=list(named.dropped))

    def end_round(self, number: int) -> None:
        """The evidence stands for this round; ``fused`` are its passages."""
        self.rounds.append(self.evidence)
        fused = list(dict.fromkeys(one.passage for one in self.evidence))
        self.trace.append({"step": "round", "round": number, "evidence": _rows(self.evidence), "fused": fused})

    def merge(self) -> None:
        """The record of the union. What nobody said the purpose of is for the nearest sub-question."""
        evidence = self.merged
        for one in evidence:
            if one not in self.purpose:
                self.purpose[one] = nearest_sub_question(self.candidates, one, self.sub_questions)
        sizes = {"candidates": self._size(self.candidates.references), "evidence": self._size(evidence)}
        chosen = [{"place": one.passage, "sentence": one.sentence, "for": self.purpose[one] + 1} for one in evidence]
        self.trace.append({"step": "merge", "evidence": chosen, "hallucinated": self.dropped, "sizes": sizes})

    def _size(self, references: Sequence[Reference]) -> dict[str, int]:
        words = sum(len(self.candidates.text(one).split()) for one in references)
        return {"sentences": len(references), "words": words}

    def result(self, seconds: float) -> RetrievalResult:
        """The merged evidence as a result; its passages are ranked in the order in which they were chosen."""
        evidence = self.merged
        indices = dict.fromkeys(one.passage for one in evidence)
        return RetrievalResult(
            ordered_graph(evidence, self.purpose),
            ranking=tuple((index, 1 / rank) for rank, index in enumerate(indices, 1)),
            searched=self.candidates.corpus,
            usage=self.usage,
            seconds=seconds,
            trace=tuple(self.trace),
            answer=self.answer,
            sentences=tuple((one.passage, one.sentence) for one in evidence),
        )


def _rows(evidence: Evidence) -> list[list[int]]:
    """The passage and the number of each sentence, as JSON."""
    return [[*one] for one in evidence]
