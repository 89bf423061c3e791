"""The settings of PRISM, and the state of one question on its way through the steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bgr.llm.language_model import ParsedReply
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.llm_retriever import LlmRun, check_minimum
from bgr.retrievers.prism.evidence import Candidates, Evidence, Reference, added, nearest_sub_question, ordered_graph

AGENTS = ("adder", "selector")
STARTS = ("draft", "all", "none")


@dataclass(frozen=True)
class PrismSettings:
    """Settings of PRISM; the defaults are the paper's (sections 2 and 3.3, appendices A.4 and A.5).

    Args:
        rounds: N.
        agents: the agents of a round, in their order. The paper's worked example (A.5) adds first; its text (section 2)
            selects first. An agent that is not listed is left out.
        start: the evidence before the first round. ``draft``: what the model names at once (A.5), one more call.
            ``all``: every sentence of the candidates, for a selector that comes first. ``none``: nothing.
        analyser: whether the question is decomposed; otherwise it is its only sub-question.
        candidates: number of passages of the base search. The paper reads the dataset's own list (10 or 20).
        sub_questions: maximum number of sub-questions.
        references: maximum sentences that one reply may add, so that a model that repeats itself stays within
            `max_tokens`.
        whole_passages: whether the answer is read from whole passages of the evidence (Table 8), not from sentences.
        max_tokens: longest reply of any step. The selector's may be longer if the evidence is: a truncated list of what
            to keep would remove the rest.

    Raises:
        ValueError: a number below 1, an unknown agent or start, no agent, or a repeated one.
    """

    rounds: int = 3
    agents: tuple[str, ...] = AGENTS
    start: str = "draft"
    analyser: bool = True
    candidates: int = 20
    sub_questions: int = 8
    references: int = 40
    whole_passages: bool = False
    max_tokens: int = 768

    def __post_init__(self) -> None:
        check_minimum(self)
        if not self.agents or set(self.agents) - set(AGENTS) or len(set(self.agents)) < len(self.agents):
            raise ValueError(f"agents are {self.agents}; allowed: one or both of {', '.join(AGENTS)}")
        if self.start not in STARTS:
            raise ValueError(f"start is {self.start!r}; allowed: {', '.join(STARTS)}")


PAPER = PrismSettings()


@dataclass(frozen=True)
class Named:
    """The sentences that a reply names.

    Args:
        references: existing sentences, each once, with the number (from 0) of the sub-question it is for; ``None`` if
            the reply gives no existing one.
        dropped: rows that name no existing sentence, as texts for messages.
    """

    references: dict[Reference, int | None]
    dropped: tuple[str, ...] = ()


@dataclass
class Run(LlmRun):
    """A question, its candidates, and the sentences chosen so far.

    `purpose` is the sub-question (from 0) that a reply said a sentence is for, and after `merge` that of all evidence;
    `rounds` is the evidence at the end of each round; `dropped` counts names of sentences that do not exist.
    """

    question: str
    candidates: Candidates
    sub_questions: list[str]
    evidence: Evidence = ()
    purpose: dict[Reference, int] = field(default_factory=dict)
    rounds: list[Evidence] = field(default_factory=list)
    dropped: int = 0
    answer: str | None = None

    @property
    def merged(self) -> Evidence:
        """The evidence at the end of each round, together, each sentence once, the earlier first (section 2.4)."""
        return added((), chain.from_iterable(self.rounds))

    def add(self, named: dict[Reference, int | None]) -> None:
        """The adder's rule; the first stated purpose of a sentence stays."""
        self.evidence = added(self.evidence, named)
        for one, purpose in named.items():
            if purpose is not None:
                self.purpose.setdefault(one, purpose)

    def note_agent(self, step: str, number: int, read: ParsedReply, **values: Any) -> None:
        """The record of an agent: the evidence after it, and the names of sentences that do not exist."""
        named: Named = read.value
        self.dropped += len(named.dropped)
        self.note(step, read, round=number, **values, evidence=rows(self.evidence), dropped=list(named.dropped))

    def end_round(self, number: int) -> None:
        """Keep the evidence as this round's; ``fused`` are its passages."""
        self.rounds.append(self.evidence)
        fused = list(dict.fromkeys(one.passage for one in self.evidence))
        self.trace.append({"step": "round", "round": number, "evidence": rows(self.evidence), "fused": fused})

    def merge(self) -> None:
        """Record the union. A sentence without a stated purpose is for the nearest sub-question."""
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

    def result(self) -> RetrievalResult:
        """The merged evidence; its passages are ranked in the order in which they were chosen."""
        evidence = self.merged
        indices = dict.fromkeys(one.passage for one in evidence)
        return RetrievalResult(
            ordered_graph(evidence, self.purpose),
            ranking=tuple((index, 1 / rank) for rank, index in enumerate(indices, 1)),
            searched=self.candidates.corpus,
            usage=self.usage,
            trace=tuple(self.trace),
            answer=self.answer,
            sentences=tuple((one.passage, one.sentence) for one in evidence),
        )


def rows(references: Iterable[Reference]) -> list[list[int]]:
    """Passage and number of each sentence, as JSON."""
    return [[*one] for one in references]
