"""What a reply may write next."""

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
"""JSON as Python writes it by default; free white space would let a small model write nothing else."""


class GrammarError(Exception):
    """A schema that cannot constrain a model."""


def grammar_of(schema: Mapping[str, Any], tokenizer: Any) -> llguidance.LLMatcher:
    """What a schema lets a model write; each row takes a copy.

    Args:
        schema: JSON schema.
        tokenizer: llguidance's.

    Raises:
        GrammarError: the schema cannot constrain a model; says what in it.
    """
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=SPACING)
    matcher = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise GrammarError(one_line(Exception(matcher.get_error())))
    return matcher


class Row:
    """One reply while it is written: its own grammar, its own length, its own draws.

    Args:
        request: whose reply it is.
        limit: most tokens of it.
        ends: token ids that end it.
        grammar: at its beginning; ``None`` lets everything come.
    """

    def __init__(
        self, request: Request, limit: int, ends: Sequence[int], grammar: llguidance.LLMatcher | None = None
    ) -> None:
        self.tokens: list[int] = []
        self.problem = ""
        self.first: list[tuple[int, float]] = []
        """The likeliest first token ids and their log-probabilities, before grammar and temperature have their say."""
        self._limit, self._ends, self._temperature, self._top = limit, ends, request.temperature, request.top_logprobs
        self._matcher = None if grammar is None else grammar.deep_copy()
        self._draws = torch.Generator().manual_seed(request.seed)

    @property
    def ended(self) -> bool:
        """Whether it came to its end by itself."""
        return bool(self.tokens) and self.tokens[-1] in self._ends

    @property
    def done(self) -> bool:
        """Whether nothing more is written."""
        return self.ended or len(self.tokens) >= self._limit or bool(self.problem)

    def write(self, scores: torch.Tensor) -> int:
        """Choose the next token, and keep it.

        Args:
            scores: of the vocabulary, [vocabulary]; changed in place.
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
        shares = torch.softmax(scores.cpu() / self._temperature, 0)
        return int(torch.multinomial(shares.nan_to_num(1.0), 1, generator=self._draws))

    def _allowed(self, matcher: llguidance.LLMatcher, vocabulary: int) -> torch.Tensor:
        """Which tokens the grammar lets come next, [vocabulary]."""
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        if matcher.is_error():
            self._fail(matcher)
        allowed = torch.zeros(vocabulary, dtype=torch.bool)
        allowed[: len(bits)] = torch.from_numpy(bits[:vocabulary].astype(bool))
        return allowed

    def _fail(self, matcher: llguidance.LLMatcher) -> None:
        self.problem = one_line(Exception(matcher.get_error()))
