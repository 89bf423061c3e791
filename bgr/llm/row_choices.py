"""What each row of a batch may write next: its own grammar, its own length, its own draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import llguidance
import numpy as np
import torch
from transformers import LogitsProcessor

from bgr.json_text import one_line
from bgr.llm.interface import Request

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
    """One reply while it is written.

    Args:
        request: whose reply it is.
        limit: most tokens of it.
        grammar: at its beginning; ``None`` lets everything come.
    """

    def __init__(self, request: Request, limit: int, grammar: llguidance.LLMatcher | None) -> None:
        self.limit, self.temperature, self.problem = limit, request.temperature, ""
        self._matcher = None if grammar is None else grammar.deep_copy()
        self._draws = torch.Generator().manual_seed(request.seed)
        self._written = 0
        self.done = False

    def take(self, token: int, ends: list[int]) -> None:
        """The token that was written last."""
        self._written += 1
        self.done = self.done or token in ends or self._written >= self.limit
        if not self.done and self._matcher is not None and not self._matcher.consume_token(token):
            self._fail()

    def choose(self, scores: torch.Tensor, ends: list[int]) -> None:
        """Leave, in place, only what may come next.

        Args:
            scores: of the vocabulary, [vocabulary]; what may not come becomes −inf. A row that is done ends.
        """
        if not self.done and self._matcher is not None:
            scores.masked_fill_(~self._allowed(len(scores)).to(scores.device), -torch.inf)
        if self.done:
            _keep_only(scores, ends[0])
        elif self.temperature > 0:
            shares = torch.softmax(scores.float().cpu() / self.temperature, 0)
            _keep_only(scores, int(torch.multinomial(shares, 1, generator=self._draws)))

    def _allowed(self, vocabulary: int) -> torch.Tensor:
        """Which tokens the grammar lets come next, [vocabulary]."""
        assert self._matcher is not None
        bits = np.unpackbits(np.frombuffer(self._matcher.compute_bitmask(), np.uint8), bitorder="little")
        if self._matcher.is_error():
            self._fail()
        allowed = torch.zeros(vocabulary, dtype=torch.bool)
        allowed[: len(bits)] = torch.from_numpy(bits[:vocabulary].astype(bool))
        return allowed

    def _fail(self) -> None:
        assert self._matcher is not None
        self.problem, self.done = one_line(Exception(self._matcher.get_error())), True


class RowChoices(LogitsProcessor):
    """The rows of one batch, in the place where `transformers` lets the scores be changed."""

    def __init__(self, rows: list[Row], ends: list[int], prompt: int) -> None:
        self._rows, self._ends, self._prompt = rows, ends, prompt

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """input_ids: [rows, tokens so far]; scores: [rows, vocabulary]."""
        if input_ids.shape[1] > self._prompt:
            for row, token in zip(self._rows, input_ids[:, -1].tolist(), strict=True):
                row.take(token, self._ends)
        for row, of_row in zip(self._rows, scores, strict=True):
            row.choose(of_row, self._ends)
        return scores


def _keep_only(scores: torch.Tensor, token: int) -> None:
    scores.fill_(-torch.inf)
    scores[token] = 0
