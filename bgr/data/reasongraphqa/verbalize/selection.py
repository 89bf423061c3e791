"""Which candidate sentence is taken: none that lacks a part, and of the rest the best by BERTScore (paper, 3.1.2)."""

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
"""Scores closer than this are equal: the last bits of a score hang on its batch."""


@dataclass(frozen=True)
class Sifted:
    """The candidates of one unit after the completeness check.

    Args:
        complete: distinct, in the order drawn.
        drawn: how many candidates there were.
        unfinished: of these, that did not end in time.
        incomplete: of these, that lack an entity or a value.
    """

    complete: tuple[str, ...]
    drawn: int
    unfinished: int
    incomplete: int


def sift(kb: KnowledgeBase, facts: Sequence[Fact], candidates: Sequence[str | None]) -> Sifted:
    """Leave out what did not end and what lacks a name or a value by string match."""
    finished = [text for text in candidates if text is not None]
    complete = [text for text in finished if not missing_parts(kb, text, facts)]
    return Sifted(
        complete=tuple(dict.fromkeys(complete)),
        drawn=len(candidates),
        unfinished=len(candidates) - len(finished),
        incomplete=len(finished) - len(complete),
    )


def best(candidates: Sequence[str], scores: Sequence[float]) -> str:
    """The candidate with the highest score; of equals the one drawn first."""
    order = sorted(range(len(candidates)), key=lambda place: (-round(scores[place], DECIMALS), place))
    return candidates[order[0]]


class BertScorer:
    """BERTScore F1 (Zhang et al., 2020) of candidates against their references, by torchmetrics.

    Args:
        encoder: gives the tokens' last states; its `max_tokens` cut what is longer.
        chunk: pairs whose states are held at a time.

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
        """One score a pair (candidate, reference), at most 1."""
        scores: list[float] = []
        for start in range(0, len(pairs), self.chunk):
            part = pairs[start : start + self.chunk]
            states = self._states(sorted({text for pair in part for text in pair}))
            scores += [self._score(states[candidate], states[reference]) for candidate, reference in part]
        return scores

    def _score(self, candidate: Tensor, reference: Tensor) -> float:
        """Of one pair. In lists torchmetrics (1.9) sorts both sides by length and then compares sentences that do not
        belong together."""
        found: dict[str, Any] = self._bert_score(
            _as_tokens(candidate),
            _as_tokens(reference),
            model=self.encoder.model,
            user_forward_fn=_states_as_they_are,
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
            found |= {texts[row]: states[place, : len(tokens[row])] for place, row in enumerate(rows)}
        return found


def _as_tokens(states: Tensor) -> dict[str, Tensor]:
    """States ``[t, d]`` in the place of token ids."""
    return {"input_ids": states[None], "attention_mask": torch.ones(1, len(states), dtype=torch.long)}


def _states_as_they_are(_: Any, batch: dict[str, Tensor]) -> Tensor:
    return batch["input_ids"].clone()  # torchmetrics normalises in place


def _by_length(tokens: Sequence[Sequence[int]], batch_tokens: int) -> Iterator[list[int]]:
    """Row numbers, longest first, in batches of about `batch_tokens`, padding included."""
    order = sorted(range(len(tokens)), key=lambda row: (-len(tokens[row]), row))
    while order:
        size = max(1, batch_tokens // len(tokens[order[0]]))
        yield order[:size]
        order = order[size:]
