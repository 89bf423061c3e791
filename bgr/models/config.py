"""Configuration of one retrieval direction."""

from __future__ import annotations

from typing import Any

from transformers import BertConfig, PretrainedConfig

DIRECTIONS = ("forward", "backward")


class BgrConfig(PretrainedConfig):
    """Configuration of one direction of BGR, stored as ``config.json`` next to the weights.

    The defaults are the paper's model; everything that differs from it is a switch, 0 or false here.

    Args:
        encoder: configuration of the BERT.
        direction: ``forward`` (question → last evidence) or ``backward`` (paper, section 4.1).
        frozen_layers: number of encoder layers, counted from the embeddings, that are not trained. Their output can be
            computed once per sentence and cached.
        width: width of path states and of the matcher, to which token states are projected. 0 means the encoder's width
            without projection.
        words: also read the encoder's word embedding of every token (`bgr.models.encoder.Projection`).
        rows: summary rows of a fact for matching; 1 is the paper's ``[CLS]`` row.
        links: features of pairs of sentences for each way in which tokens match (`bgr.models.token_match`).
        numbers: compare the numbers of facts with those of the question (`bgr.models.numbers`).
        context_layers: layers of self-attention over a question and all its candidates (`bgr.models.context`).
        relevance: a logit of every candidate for being evidence at all, which the matcher reads and the loss trains.
        completeness: a logit of the question for its evidence being complete (`bgr.models.context.Completeness`).
        prune: maximum number of candidates that are read; `bgr.models.pruner` chooses them if there are more. 0 for no
            limit.
        dropout: dropout probability of path update, context layers and matcher.
        question_tokens, fact_tokens: maximum length in tokens; longer questions and facts are truncated.
        threshold: a fact is selected if its probability is above this value, calibrated on the dev set.
        max_paths, max_depth: decoding limits per question: active paths at one level, facts on one path.
    """

    model_type = "bgr"
    sub_configs = {"encoder": BertConfig}  # noqa: RUF012  (the base class reads a plain dict)

    def __init__(
        self,
        encoder: BertConfig | dict[str, Any] | None = None,
        direction: str = "forward",
        frozen_layers: int = 0,
        width: int = 0,
        words: bool = False,
        rows: int = 1,
        links: int = 0,
        numbers: bool = False,
        context_layers: int = 0,
        relevance: bool = False,
        completeness: bool = False,
        prune: int = 0,
        dropout: float = 0.1,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        threshold: float = 0.5,
        max_paths: int = 64,
        max_depth: int = 24,
        **kwargs: Any,
    ) -> None:
        if isinstance(encoder, dict):
            encoder = BertConfig(**encoder)
        self.encoder = encoder if encoder is not None else BertConfig()
        self.encoder.name_or_path = ""  # a path of the machine that trained it
        self.direction = direction
        self.frozen_layers = frozen_layers
        self.width = width or self.encoder.hidden_size
        self.words = words
        self.rows = rows
        self.links = links
        self.numbers = numbers
        self.context_layers = context_layers
        self.relevance = relevance
        self.completeness = completeness
        self.prune = prune
        self.dropout = dropout
        self.question_tokens = question_tokens
        self.fact_tokens = fact_tokens
        self.threshold = threshold
        self.max_paths = max_paths
        self.max_depth = max_depth
        super().__init__(**kwargs)
        problems: list[str] = []
        if direction not in DIRECTIONS:
            problems.append(f"direction is {direction!r}, allowed: {', '.join(DIRECTIONS)}")
        if not 0 <= frozen_layers <= self.encoder.num_hidden_layers:
            problems.append(f"frozen_layers is {frozen_layers}, allowed: 0 to {self.encoder.num_hidden_layers}")
        if self.width % self.heads:
            problems.append(f"width is {width}, allowed: multiples of 64, or less than 128")
        if completeness and not relevance:
            problems.append("completeness needs relevance")
        if max(question_tokens, fact_tokens) > self.encoder.max_position_embeddings:
            problems.append(f"question_tokens and fact_tokens are at most {self.encoder.max_position_embeddings}")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def heads(self) -> int:
        """Attention heads outside the encoder, each of width 64: narrower heads do not pay on a CPU."""
        return max(1, self.width // 64)
