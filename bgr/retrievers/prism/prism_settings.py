"""All choices of PRISM; the defaults are the paper's (sections 2 and 3.3, appendices A.4 and A.5)."""

from __future__ import annotations

from dataclasses import dataclass

AGENTS = ("adder", "selector")
STARTS = ("draft", "all", "none")


@dataclass(frozen=True)
class PrismSettings:
    """Settings of the retriever.

    Args:
        rounds: N.
        agents: of a round, in their order. The paper's worked example (A.5) adds first; its text (section 2) selects
            first. One that is not named is left out.
        start: the evidence before the first round. ``draft``: what the model names at once (A.5), one more call.
            ``all``: every sentence of the candidates, for a selector that comes first. ``none``: nothing.
        analyser: whether the question is taken apart; else it is its only sub-question.
        candidates: passages of the base search that are read. The paper reads the dataset's own list (10 or 20).
        sub_questions: that are kept of the analyser's reply.
        references: that one reply may add; keeps a model that repeats itself within `max_tokens`.
        whole_passages: whether the answer comes from the whole passages of the evidence (Table 8), not from its
            sentences.
        max_tokens: longest reply of any step. The selector's may be longer where the evidence is: a list of what to
            keep that is cut would remove the rest.

    Raises:
        ValueError: a number below 1, an agent or start that is unknown, no agent, or one that is there twice.
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
        for name in ("rounds", "candidates", "sub_questions", "references", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if not self.agents or set(self.agents) - set(AGENTS) or len(set(self.agents)) < len(self.agents):
            raise ValueError(f"agents are {self.agents}; allowed: one or both of {', '.join(AGENTS)}")
        if self.start not in STARTS:
            raise ValueError(f"start is {self.start!r}; allowed: {', '.join(STARTS)}")


PAPER = PrismSettings()
