"""Configuration of a trained baseline."""

from __future__ import annotations

from typing import Any

from transformers import BertConfig, PretrainedConfig

TRAINED = ("dpr", "grr", "mdr", "ssg")
"""Baselines with weights."""

_RANGES = {
    "frozen_layers": (0, 1_000),
    "width": (0, 65_536),
    "layers": (0, 100),
    "context_layers": (1, 100),
    "rows": (1, 1_000),
    "question_tokens": (3, 1_000_000),
    "fact_tokens": (3, 1_000_000),
    "beam": (1, 1_000),
    "max_depth": (1, 1_000),
}


class BaselineConfig(PretrainedConfig):
    """What a trained baseline is made of; stored as ``config.json`` beside the weights.

    Args:
        encoder: the BERT's own configuration.
        kind: one of `TRAINED`.
        frozen_layers: encoder layers, counted from the embeddings, that training leaves as they are.
        width: of all vectors; token states are projected to it. 0: the encoder's own.
        layers: transformer layers over each sentence alone, behind the encoder; what a frozen encoder cannot learn.
        context_layers: ``mdr``: layers over the question and the facts found so far; ``ssg``: over a question's
            candidates; of no meaning to the others.
        rows: summary rows that a sentence's vector is made from.
        dropout: dropout probability.
        question_tokens, fact_tokens: longest question and fact in tokens; what is longer is cut off.
        beam: ``grr``, ``mdr``: paths of a question that are followed at once.
        max_depth: facts on one path; of ``ssg``, chains and facts together.
    """

    model_type = "bgr-baseline"
    sub_configs = {"encoder": BertConfig}  # noqa: RUF012  (the base class reads a plain dict)

    def __init__(
        self,
        encoder: BertConfig | dict[str, Any] | None = None,
        kind: str = "dpr",
        frozen_layers: int = 0,
        width: int = 0,
        layers: int = 1,
        context_layers: int = 1,
        rows: int = 4,
        dropout: float = 0.0,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        beam: int = 4,
        max_depth: int = 24,
        **kwargs: Any,
    ) -> None:
        if isinstance(encoder, dict):
            encoder = BertConfig(**encoder)
        self.encoder = encoder if encoder is not None else BertConfig()
        self.kind = kind
        self.frozen_layers = frozen_layers
        self.width = width or self.encoder.hidden_size
        self.layers = layers
        self.context_layers = context_layers
        self.rows = rows
        self.dropout = dropout
        self.question_tokens = question_tokens
        self.fact_tokens = fact_tokens
        self.beam = beam
        self.max_depth = max_depth
        super().__init__(**kwargs)
        problems = self._problems()
        if problems:
            raise ValueError("; ".join(problems))

    def _problems(self) -> list[str]:
        problems = []
        if self.kind not in TRAINED:
            problems.append(f"kind is {self.kind!r}, allowed: {', '.join(TRAINED)}")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                problems.append(f"{name} is {value!r}, allowed: integers from {low} to {high}")
        if type(self.dropout) not in (int, float) or not 0 <= self.dropout < 1:
            problems.append(f"dropout is {self.dropout!r}, allowed: 0 up to, but not, 1")
        if problems:
            return problems
        if self.frozen_layers > self.encoder.num_hidden_layers:
            problems.append(f"frozen_layers is {self.frozen_layers}, allowed: 0 to {self.encoder.num_hidden_layers}")
        if self.width % self.heads:
            problems.append(f"width is {self.width}, allowed: multiples of 64, or less than 128")
        if max(self.question_tokens, self.fact_tokens) > self.encoder.max_position_embeddings:
            problems.append(f"question_tokens and fact_tokens end at {self.encoder.max_position_embeddings}")
        return problems

    @property
    def heads(self) -> int:
        """Attention heads outside the encoder, each 64 wide."""
        return max(1, self.width // 64)
