"""Sampling of the next token of a reply, under the grammar of its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import llguidance
import numpy as np
import torch

from bgr.llm.interface import Request
from bgr.utils.json_utils import one_line

SPACING: Any = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""JSON in Python's default format. With free white space, a small model may generate nothing else."""


class GrammarError(Exception):
    """A schema that cannot be used as a grammar."""


def grammar_of(schema: Mapping[str, Any], tokenizer: Any) -> llguidance.LLMatcher:
    """The grammar of a schema; each `TokenSampler` uses a copy.

    Args:
        schema: JSON schema.
        tokenizer: tokenizer of llguidance.

    Raises:
        GrammarError: the schema cannot be used as a grammar; the message says why.
    """
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=SPACING)
    matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise GrammarError(one_line(Exception(matcher.get_error())))
    return matcher


class TokenSampler:
    """Sampler of one reply, with its own grammar, length limit and random generator.

    Args:
        request: the request to answer.
        limit: maximum number of tokens.
        ends: token ids that end the reply.
        grammar: initial state of the grammar; ``None`` for free text.
    """

    def __init__(
        self, request: Request, limit: int, ends: Sequence[int], grammar: llguidance.LLMatcher | None = None
    ) -> None:
        self.tokens: list[int] = []
        self.problem = ""
        self.first: list[tuple[int, float]] = []
        """The most likely first token ids and their log-probabilities, without grammar and temperature."""
        self._limit, self._ends, self._temperature, self._top = limit, ends, request.temperature, request.top_logprobs
        self._matcher = None if grammar is None else grammar.deep_copy()
        self._random = torch.Generator().manual_seed(request.seed)

    @property
    def ended(self) -> bool:
        """True if the reply ended with an end token."""
        return bool(self.tokens) and self.tokens[-1] in self._ends

    @property
    def done(self) -> bool:
        """True if the reply is complete, truncated or failed."""
        return self.ended or len(self.tokens) >= self._limit or bool(self.problem)

    def sample(self, scores: torch.Tensor) -> int:
        """Choose and store the next token.

        Args:
            scores: scores of all tokens, [vocabulary]; changed in place.
        """
        if self._top and not self.tokens:
            values, tokens = torch.log_softmax(scores, 0).topk(min(self._top, len(scores)))
            self.first = list(zip(tokens.tolist(), values.tolist(), strict=True))
        if self._matcher is not None:
            scores.masked_fill_(~self._allowed(self._matcher, len(scores)).to(scores.device), -torch.inf)
        token = self._chosen(scores)
        if not self.problem:
            self.tokens.append(token)
        if not self.done and self._matcher is not None and not self._matcher.consume_token(token):
            self._fail(self._matcher)
        return token

    def _chosen(self, scores: torch.Tensor) -> int:
        if self._temperature <= 0:
            return int(scores.argmax())
        probabilities = torch.softmax(scores.cpu() / self._temperature, 0)
        return int(torch.multinomial(probabilities.nan_to_num(1.0), 1, generator=self._random))

    def _allowed(self, matcher: llguidance.LLMatcher, vocabulary: int) -> torch.Tensor:
        """Tokens that the grammar allows next, bool [vocabulary]."""
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        if matcher.is_error():
            self._fail(matcher)
        allowed = torch.zeros(vocabulary, dtype=torch.bool)
        allowed[: len(bits)] = torch.from_numpy(bits[:vocabulary].astype(bool))
        return allowed

    def _fail(self, matcher: llguidance.LLMatcher) -> None:
        self.problem = one_line(Exception(matcher.get_error()))
