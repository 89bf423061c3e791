"""All numbers of evidence graphs by a language model. The paper gives none of them (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass, fields

FEWEST = {"shots": 0, "shot_facts": 0, "seed": 0, "characters": 2_000, "fact_characters": 20}
"""The least that a setting may be, where it is not 1."""


@dataclass(frozen=True)
class LlmGraphSettings:
    """Settings of `LlmGraph` and `LlmAnswerer`.

    Args:
        shots: examples in a prompt, at most; see `bgr.retrievers.llm_graph.shots`.
        shot_facts: facts of an example beside the gold ones.
        seed: decides which examples, and which of their facts.
        characters: of a prompt, at most; in English four are about a token. The examples take no more than half.
        fact_characters: of a fact or a question; longer ones are cut. At most a quarter of `characters`.
        edges: that are read from one reply.
        max_tokens: longest reply.

    Raises:
        ValueError: a number below what makes sense (`FEWEST`), or facts too long for the prompt.
    """

    shots: int = 4
    shot_facts: int = 4
    seed: int = 0
    characters: int = 12_000
    fact_characters: int = 600
    edges: int = 48
    max_tokens: int = 512

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), FEWEST.get(field.name, 1)
            if value < least:
                raise ValueError(f"{field.name} is {value}; allowed: {least} and more")
        if self.fact_characters > self.characters // 4:
            raise ValueError(f"fact_characters is {self.fact_characters}; allowed: {self.characters // 4} and less")


DEFAULT = LlmGraphSettings()
