"""Segmentation of a text into everyday words, quantities, and names.

Names are recognized only by their form: words that are not everyday words, and everyday words with a capital inside a
sentence. Adjacent pieces that always occur together in the text are merged, so that most names are one piece.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bgr.utils.quantities import Quantity, find_quantities

_TOKEN = re.compile(r"['’]s\b|[^\W_]+(?:['’.&-](?!s\b)[^\W_]+)*|\S")
_ENDS = frozenset(".?!:\"“”'‘’(")
JOINTS = frozenset(
    "of the and in to a an for on with from at by vs or de la le du der van von no 's ’s & - : ! ' ’ , .".split()
)
"""Everyday words that occur inside names."""
MAX_JOINTS = 2


@dataclass(frozen=True)
class Piece:
    """The part ``start … end`` of a text. Pieces with the same meaning have the same `key`: a name or word in lower
    case. `quantity` is set for numbers and dates."""

    start: int
    end: int
    key: str
    name: bool
    quantity: Quantity | None = None

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


def cut(text: str, words: Collection[str]) -> list[Piece]:
    """Split a text into pieces from left to right, which cover everything except spaces.

    `words` are everyday words in lower case; abbreviations have their usual case.
    """
    pieces = _mark_capitals(text, _simple(text, words), words)
    size = len(pieces) + 1
    while len(pieces) < size:
        size = len(pieces)
        pieces = _join(text, pieces, 0, minimum=1)
    for joint in range(1, MAX_JOINTS + 1):
        pieces = _join(text, pieces, joint, minimum=2)
    return _with_articles(text, pieces)


def tokens_of(text: str) -> list[str]:
    """Words, punctuation and quantities of a text, unchanged."""
    return [text[piece.start : piece.end] for piece in _simple(text, ())]


def at_sentence_start(before: str) -> bool:
    """Return true if a sentence may start after this word or punctuation mark."""
    return before in _ENDS


def _simple(text: str, words: Collection[str]) -> list[Piece]:
    pieces: list[Piece] = []
    position = 0
    for quantity in [*find_quantities(text), None]:
        end = len(text) if quantity is None else quantity.start
        for match in _TOKEN.finditer(text, position, end):
            key = match[0].lower()
            everyday = key in words or match[0] in words or not any(letter.isalnum() for letter in key)
            pieces.append(Piece(*match.span(), key, not everyday))
        if quantity is not None:
            pieces.append(Piece(quantity.start, quantity.end, quantity.text, False, quantity))
            position = quantity.end
    return pieces


def _mark_capitals(text: str, pieces: Sequence[Piece], words: Collection[str]) -> list[Piece]:
    """Mark everyday words as names where they are capitalized, if they are capitalized anywhere inside a sentence."""

    def capital(piece: Piece) -> bool:
        if piece.name or piece.quantity is not None or not text[piece.start].isupper() or piece.key in JOINTS:
            return False
        return text[piece.start : piece.end] not in words

    inside = {b.key for a, b in pairwise(pieces) if capital(b) and not at_sentence_start(text[a.start : a.end])}
    return [
        Piece(piece.start, piece.end, piece.key, True) if piece.key in inside and capital(piece) else piece
        for piece in pieces
    ]


def _join(text: str, pieces: list[Piece], joint: int, *, minimum: int) -> list[Piece]:
    """Merge two names with `joint` everyday words between them if neither occurs without the other."""
    alone = Counter(piece.key for piece in pieces if piece.name)
    spans = {}
    for first in range(len(pieces) - joint - 1):
        a, b = pieces[first], pieces[first + joint + 1]
        between = pieces[first + 1 : first + joint + 1]
        if not (a.name and b.name) or any(piece.name or piece.key not in JOINTS for piece in between):
            continue
        if joint or text[a.end : b.start] == " ":
            spans[first] = (a.key, text[a.end : b.start], b.key)
    together = Counter(spans.values())
    joined: list[Piece] = []
    skip = 0
    for i, piece in enumerate(pieces):
        if i < skip:
            continue
        found = spans.get(i)
        if found and together[found] == alone[found[0]] == alone[found[2]] >= minimum and found[0] != found[2]:
            skip = i + joint + 2
            end = pieces[skip - 1].end
            joined.append(Piece(piece.start, end, text[piece.start : end].lower(), True))
        else:
            joined.append(piece)
    return joined


def _with_articles(text: str, pieces: list[Piece]) -> list[Piece]:
    """Merge a capitalized joint word with the name after it: *The Return …*.

    At the start of a sentence this requires that the name has the word elsewhere too.
    """
    before: dict[int, str] = {}
    inside: set[str] = set()
    for i, (a, b) in enumerate(pairwise(pieces)):
        if b.name and a.key in JOINTS and text[a.start].isupper() and text[a.end : b.start] == " ":
            before[i] = b.key
            if i and not at_sentence_start(text[slice(*pieces[i - 1].span)]):
                inside.add(b.key)
    led, alone = Counter(before.values()), Counter(piece.key for piece in pieces if piece.name)
    joined: list[Piece] = []
    for i, piece in enumerate(pieces):
        key = before.get(i - 1)
        if key is not None and (key in inside or led[key] == alone[key] >= 2):
            start = joined.pop().start
            joined.append(Piece(start, piece.end, text[start : piece.end].lower(), True))
        else:
            joined.append(piece)
    return joined
