"""Names and quantities as placeholders, so that a small T5 reads and writes a small closed vocabulary.

A T5 without pre-training sees most names once and cannot learn their letters; it needs to learn only *which* name is
the answer. Before T5 reads a text, each name in it becomes ``<extra_id_0>``, ``<extra_id_1>``, … in the order of first
appearance, the same name the same placeholder. Each number becomes ``<number_0>``, ``<number_1>``, … in the order of
*size*, so that which of two is larger, or that they are equal, can be read off; a date becomes its year and itself.
What T5 writes is turned back by the table of that one text. Nothing comes from outside question and evidence, and the
model is a plain T5 with a few more tokens.

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
"""T5's own placeholders. Names after the hundredth share `LOST`."""
NUMBERS = tuple(f"<number_{n}>" for n in range(64))
_PLACEHOLDER = re.compile("<(?:extra_id|number)_[0-9a-z]+>")
LOST = "<extra_id_lost>"
PLACEHOLDERS = (*NAMES, *NUMBERS, LOST)


@dataclass(frozen=True)
class Masked:
    """A text with placeholders.

    Args:
        source: the text before.
        tokens: what T5 reads, divided by blanks.
        spans: the part of `source` behind each token; an empty one for the year of a date.
        quantities: by placeholder, the plain form of a number or date.
        names: by placeholder, the name as it first stands in `source`.
    """

    source: str
    tokens: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    quantities: dict[str, str]
    names: dict[str, str]

    @property
    def text(self) -> str:
        """What T5 reads."""
        return " ".join(self.tokens)

    def target(self, answer: str, words: Collection[str], *, count: bool = False) -> str | None:
        """What T5 is to write for `answer`; ``None`` where that can be said neither by placeholders nor by `words`.

        Args:
            answer: the annotated answer.
            words: the everyday words, in small letters.
            count: the answer is a number that was counted, so no number of the text.
        """
        if count:
            return answer if answer in words else None
        return self._copied(answer) or self._spelled(answer, words)

    def answer(self, written: str) -> str:
        """What T5 wrote, in words. A run of tokens that stands in the text is given as it is spelled there, a number or
        date in its plain form."""
        tokens = _PLACEHOLDER.sub(r" \g<0> ", written).split()
        measured = sum(token in self.quantities for token in tokens) == 1 and tokens[0] in self.quantities
        if tokens and not measured:
            place = _find(self.tokens, tokens)
            if place is not None:
                return self.source[self.spans[place][0] : self.spans[place + len(tokens) - 1][1]]
        return " ".join(self.quantities.get(token) or self.names.get(token) or token for token in tokens)

    def _copied(self, answer: str) -> str | None:
        """The tokens of the part of the text that spells the answer, whatever the case."""
        low, wanted = self.source.lower(), answer.lower()
        ends = {end: place for place, (_, end) in enumerate(self.spans)}
        for place, (start, end) in enumerate(self.spans):
            if end > start and low.startswith(wanted, start) and (last := ends.get(start + len(wanted))) is not None:
                return " ".join(self.tokens[place : last + 1])
        return None

    def _spelled(self, answer: str, words: Collection[str]) -> str | None:
        """Token for token: a quantity's placeholder, everyday words, and the longest runs that stand in the text."""
        written: list[str] = []
        place = 0
        for quantity in find_quantities(answer)[:1]:
            if quantity.start == 0:
                token = self._measured(quantity)
                if token is None:
                    return None
                written.append(token)
                place = quantity.end
        measured = bool(written)
        parts = tokens_of(answer[place:])
        while parts:
            copied, width = self._longest(parts)
            if parts[0].lower() in words and (measured or copied is None):
                copied, width = parts[0].lower(), 1
            if copied is None:
                return None
            written.append(copied)
            parts = parts[width:]
        return " ".join(written)

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


def mask(text: str, words: Collection[str]) -> Masked:
    """Put placeholders for what is not in `words`.

    Args:
        text: question and evidence (`bgr.reader.reader`).
        words: the everyday words, in small letters.
    """
    pieces = cut(text, words)
    ranks = _ranks(pieces)
    tokens: list[str] = []
    spans: list[tuple[int, int]] = []
    names: dict[str, str] = {}
    places: dict[str, str] = {}
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
            token = places.setdefault(piece.key, NAMES[len(places)] if len(places) < len(NAMES) else LOST)
            names.setdefault(token, text[piece.start : piece.end])
            tokens.append(token)
        else:
            tokens.append(piece.key)
        spans.append(span)
    return Masked(text, tuple(tokens), tuple(spans), quantities, names)


def _ranks(pieces: list[Piece]) -> dict[float, str]:
    """A placeholder for each size, the years of dates among them; what is beyond the last one shares it."""
    sizes = {q.size for piece in pieces if (q := piece.quantity) is not None}
    years = {float(q.text[:4]) for piece in pieces if (q := piece.quantity) is not None and q.date}
    return {size: NUMBERS[min(rank, len(NUMBERS) - 1)] for rank, size in enumerate(sorted(sizes | years))}


def _find(tokens: tuple[str, ...], part: list[str]) -> int | None:
    width = len(part)
    return next((n for n in range(len(tokens) - width + 1) if list(tokens[n : n + width]) == part), None)
