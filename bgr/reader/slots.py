"""Placeholders for names and quantities, so that a small T5 needs only a small closed vocabulary.

A T5 without pre-training sees most names only once and cannot learn their spelling; it only needs to learn *which* name
is the answer. Each name in the input becomes ``<extra_id_0>``, ``<extra_id_1>``, … in the order of first occurrence,
with the same placeholder for the same name. Each number becomes ``<number_0>``, ``<number_1>``, … in the order of
*size*, so that the model can compare them; a date becomes its year and itself. The output is converted back with the
table of the same text. No information from outside question and evidence is used, and the model is a plain T5 with a
few more tokens.

::

    text      question: Who made Diva? evidence: Diva, of 1981, was directed by Jean-Jacques Beineix.
    T5 reads  question : who made <extra_id_0> ? evidence : <extra_id_0> , of <number_0> , was directed by …
    T5 writes <extra_id_1>
    answer    Jean-Jacques Beineix
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bgr.reader.name_pieces import Piece, cut, tokens_of
from bgr.utils.quantities import Quantity, find_quantities

NAMES = tuple(f"<extra_id_{n}>" for n in range(100))
"""T5's placeholders. Names after the hundredth share `LOST`."""
NUMBERS = tuple(f"<number_{n}>" for n in range(64))
_PLACEHOLDER = re.compile("<(?:extra_id|number)_[0-9a-z]+>")
LOST = "<extra_id_lost>"
PLACEHOLDERS = (*NAMES, *NUMBERS, LOST)


@dataclass(frozen=True)
class Masked:
    """A text with placeholders.

    Args:
        source: the original text.
        tokens: the input of T5, split at spaces.
        spans: the part of `source` for each token; empty for the year of a date.
        quantities: plain form of a number or date, by placeholder.
        names: first spelling of a name in `source`, by placeholder.
    """

    source: str
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    quantities: dict[str, str]
    names: dict[str, str]

    @property
    def text(self) -> str:
        """The input of T5."""
        return " ".join(self.tokens)

    def target(self, answer: str, words: Collection[str], *, count: bool = False) -> str | None:
        """The output of T5 for `answer`; ``None`` if placeholders and `words` cannot express it.

        `words` are everyday words in lower case. With `count`, the answer is a count and not a number of the text.
        """
        if count:
            return answer if answer in words else None
        return self._copied(answer) or self._spelled(answer, words)

    def answer(self, output: str) -> str:
        """Convert the output of T5 to an answer. A run of tokens from the text is spelled as there, and a number or
        date gets its plain form. Empty if a placeholder stands for nothing in the text."""
        tokens = _PLACEHOLDER.sub(r" \g<0> ", output).split()
        measured = sum(token in self.quantities for token in tokens) == 1 and tokens[0] in self.quantities
        if tokens and not measured:
            start = _find(self.tokens, tokens)
            if start is not None:
                return self.source[self.spans[start][0] : self.spans[start + len(tokens) - 1][1]]
        words = [self.quantities.get(token) or self.names.get(token) or token for token in tokens]
        return "" if any(_PLACEHOLDER.search(word) for word in words) else " ".join(words)

    def _copied(self, answer: str) -> str | None:
        """The tokens of the part of the text that spells the answer, ignoring case."""
        low, wanted = self.source.lower(), answer.lower()
        ends = {end: i for i, (_, end) in enumerate(self.spans)}
        for i, (start, end) in enumerate(self.spans):
            if end > start and low.startswith(wanted, start) and (last := ends.get(start + len(wanted))) is not None:
                return " ".join(self.tokens[i : last + 1])
        return None

    def _spelled(self, answer: str, words: Collection[str]) -> str | None:
        """Compose the answer of a quantity's placeholder, everyday words, and the longest runs that occur in the
        text."""
        output: list[str] = []
        rest = 0
        for quantity in find_quantities(answer)[:1]:
            if quantity.start == 0:
                token = self._measured(quantity)
                if token is None:
                    return None
                output.append(token)
                rest = quantity.end
        measured = bool(output)
        parts = tokens_of(answer[rest:])
        while parts:
            copied, width = self._longest(parts)
            if parts[0].lower() in words and (measured or copied is None):
                copied, width = parts[0].lower(), 1
            if copied is None:
                return None
            output.append(copied)
            parts = parts[width:]
        return " ".join(output)

    def _measured(self, quantity: Quantity) -> str | None:
        """The placeholder of an equal number or date."""
        for token, text in self.quantities.items():
            if text == quantity.text:
                return token
            if not quantity.date and text.count("-") < 2 and float(text) == quantity.size:
                return token
        return None

    def _longest(self, parts: Sequence[str]) -> tuple[str | None, int]:
        for width in range(len(parts), 0, -1):
            copied = self._copied(" ".join(parts[:width]))
            if copied is not None:
                return copied, width
        return None, 0


def mask_text(text: str, words: Collection[str]) -> Masked:
    """Replace names and quantities, that is, everything outside `words`, by placeholders.

    `words` are everyday words in lower case.
    """
    pieces = cut(text, words)
    ranks = _ranks(pieces)
    tokens: list[str] = []
    spans: list[tuple[int, int]] = []
    names: dict[str, str] = {}
    placeholders: dict[str, str] = {}
    quantities: dict[str, str] = {}
    for piece in pieces:
        span, quantity = (piece.start, piece.end), piece.quantity
        if quantity is not None:
            if quantity.date:
                year = float(quantity.text[:4])
                tokens.append(ranks[year])
                spans.append((piece.start, piece.start))
                quantities.setdefault(ranks[year], quantity.text[:4])
            tokens.append(ranks[quantity.size])
            quantities[ranks[quantity.size]] = quantity.text
        elif piece.name:
            name = NAMES[len(placeholders)] if len(placeholders) < len(NAMES) else LOST
            token = placeholders.setdefault(piece.key, name)
            names.setdefault(token, text[piece.start : piece.end])
            tokens.append(token)
        else:
            tokens.append(piece.key)
        spans.append(span)
    return Masked(text, tuple(tokens), tuple(spans), quantities, names)


def _ranks(pieces: list[Piece]) -> dict[float, str]:
    """A placeholder for each size, including the years of dates; sizes beyond the last placeholder share it."""
    sizes = {q.size for piece in pieces if (q := piece.quantity) is not None}
    years = {float(q.text[:4]) for piece in pieces if (q := piece.quantity) is not None and q.date}
    return {size: NUMBERS[min(rank, len(NUMBERS) - 1)] for rank, size in enumerate(sorted(sizes | years))}


def _find(tokens: tuple[str, ...], part: list[str]) -> int | None:
    width = len(part)
    return next((n for n in range(len(tokens) - width + 1) if list(tokens[n : n + width]) == part), None)
