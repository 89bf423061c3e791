"""Tokenization with a maximum length, and counts of the texts that were longer: no text is truncated silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from bgr.errors import CheckpointError
from bgr.utils.json_utils import one_line
from bgr.utils.settings import STRICT

Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Truncation:
    """How many of a number of distinct texts were longer than a model reads, and lost their end."""

    __pydantic_config__ = STRICT

    truncated: Count = 0
    texts: Count = 0

    def __add__(self, other: Truncation) -> Truncation:
        return Truncation(self.truncated + other.truncated, self.texts + other.texts)

    def of(self, what: str) -> str:
        """``12 of 2,080 questions (0.58 %)``."""
        share = 100 * self.truncated / max(1, self.texts)
        return f"{self.truncated:,} of {self.texts:,} {what} ({share:.2f} %)"


def truncation_text(counts: Mapping[str, Truncation]) -> str:
    """``truncated: 12 of 2,080 questions (0.58 %), 40 of 19,632 facts (0.20 %)``."""
    return f"truncated: {', '.join(count.of(what) for what, count in counts.items())}"


def run_tokenizer(tokenizer: Any, texts: Sequence[str], **settings: Any) -> Any:
    """Call a tokenizer of `transformers` on texts.

    Raises:
        CheckpointError: its rules fail at a text, such as a regular expression without an end.
    """
    try:
        return tokenizer(list(texts), **settings)
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # of Rust; it is no `Exception`, so that nobody would catch it
            raise CheckpointError(f"the rules of the tokenizer fail at a text: {one_line(error)}") from None
        raise


def tokenize(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> tuple[list[list[int]], list[int]]:
    """The token ids of each text, at most `max_tokens` with special tokens, and the numbers of the truncated texts."""
    if not texts:
        return [], []
    rows: list[list[int]] = run_tokenizer(tokenizer, texts, truncation=True, max_length=max_tokens)["input_ids"]
    # only a full row can have lost tokens, so few texts are tokenized a second time
    full = [number for number, row in enumerate(rows) if len(row) >= max_tokens]
    whole = run_tokenizer(tokenizer, [texts[number] for number in full], verbose=False)["input_ids"] if full else []
    return rows, [number for number, row in zip(full, whole, strict=True) if len(row) > max_tokens]


def token_spans(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> list[list[tuple[int, int]]]:
    """The first character of each token of each text, and the one after its last; both are 0 for a special token."""
    if not texts:
        return []
    read = run_tokenizer(tokenizer, texts, truncation=True, max_length=max_tokens, return_offsets_mapping=True)
    spans: list[list[tuple[int, int]]] = read["offset_mapping"]
    return spans
