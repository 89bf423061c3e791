"""Selection of a candidate sentence: the best by BERTScore of those that lack no name or value (paper, 3.1.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bgr.collection.embedding import SentenceEncoder
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.verbalize.verbalizer import missing_parts
from bgr.errors import BgrError

Scorer = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Pairs of candidate and reference to scores, higher is better."""

DECIMALS = 4
"""Scores are compared after rounding, because their last bits depend on the batch."""


@dataclass(frozen=True)
class CompleteCandidates:
    """The candidates of one unit after the completeness check.

    Args:
        complete: the distinct complete candidates, in the order of sampling.
        sampled: number of candidates.
        unfinished: number of candidates that did not end in time.
        incomplete: number of candidates that lack an entity or a value.
    """

    complete: tuple[str, ...]
    sampled: int
    unfinished: int
    incomplete: int


def filter_complete(kb: KnowledgeBase, facts: Sequence[Fact], candidates: Sequence[str | None]) -> CompleteCandidates:
    """Remove candidates that did not end, or that lack a name or a value by string matching."""
    finished = [text for text in candidates if text is not None]
    complete = [text for text in finished if not missing_parts(kb, text, facts)]
    return CompleteCandidates(
        complete=tuple(dict.fromkeys(complete)),
        sampled=len(candidates),
        unfinished=len(candidates) - len(finished),
        incomplete=len(finished) - len(complete),
    )


def best(candidates: Sequence[str], scores: Sequence[float]) -> str:
    """The candidate with the highest score; among equals the first."""
    order = sorted(range(len(candidates)), key=lambda index: (-round(scores[index], DECIMALS), index))
    return candidates[order[0]]


class BertScorer:
    """BERTScore F1 (Zhang et al., 2020) of candidates against their references, by torchmetrics.

    Args:
        encoder: gives the tokens' last hidden states; truncates to its `max_tokens`.
        chunk: number of pairs whose states are in memory at a time.

    Raises:
        BgrError: torchmetrics is not installed.
    """

    def __init__(self, encoder: SentenceEncoder, *, chunk: int = 256) -> None:
        try:
            from torchmetrics.functional.text.bert import bert_score
        except ImportError:
            raise BgrError("BERTScore needs torchmetrics: pip install 'bgr[verbalizer]'") from None
        self.encoder = encoder
        self.chunk = chunk
        self._bert_score = bert_score

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score, at most 1, of each pair (candidate, reference)."""
        scores: list[float] = []
        for start in range(0, len(pairs), self.chunk):
            part = pairs[start : start + self.chunk]
            states = self._states(sorted({text for pair in part for text in pair}))
            scores += [self._score(states[candidate], states[reference]) for candidate, reference in part]
        return scores

    def _score(self, candidate: Tensor, reference: Tensor) -> float:
        """The score of one pair.

        Lists are not scored together, because torchmetrics (1.9) sorts both by length and so compares wrong pairs.
        """
        found: dict[str, Any] = self._bert_score(
            _as_tokens(candidate),
            _as_tokens(reference),
            model=self.encoder.model,
            user_forward_fn=_given_states,
            device=self.encoder.device,
        )
        return float(found["f1"])

    @torch.inference_mode()
    def _states(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """The states of each text's tokens, ``[t, d]``."""
        encoder = self.encoder
        tokens = encoder.tokenizer(list(texts), truncation=True, max_length=encoder.max_tokens)["input_ids"]
        found: dict[str, Tensor] = {}
        for rows in _by_length(tokens, encoder.batch_tokens):
            padded = encoder.tokenizer.pad({"input_ids": [tokens[row] for row in rows]}, return_tensors="pt")
            states = encoder.model(**padded.to(encoder.device)).last_hidden_state.float().cpu()
            found |= {texts[row]: states[n, : len(tokens[row])] for n, row in enumerate(rows)}
        return found


def _as_tokens(states: Tensor) -> dict[str, Tensor]:
    """States ``[t, d]`` in the form of token ids."""
    return {"input_ids": states[None], "attention_mask": torch.ones(1, len(states), dtype=torch.long)}


def _given_states(_: Any, batch: dict[str, Tensor]) -> Tensor:
    return batch["input_ids"].clone()  # torchmetrics normalizes in place


def _by_length(tokens: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Batches of row numbers, longest rows first, of about `batch_tokens` tokens with padding."""
    order = sorted(range(len(tokens)), key=lambda row: (-len(tokens[row]), row))
    while order:
        size = max(1, batch_tokens // len(tokens[order[0]]))
        yield order[:size]
        order = order[size:]
