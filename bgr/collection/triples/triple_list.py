"""Triples whose texts lie in one buffer, so that millions of them take no Python object each."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import overload

import numpy as np
from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import EntityNumbers, Triple
from bgr.errors import DataError
from bgr.utils.json_utils import shown

BLOCK = 16384
"""Triples that are Python objects at one time while a list is made."""


class TripleList(Sequence[Triple]):
    """A list of triples; indexing makes the `Triple`.

    Args:
        text: ``uint8 [bytes]``, all subjects, predicates and objects in UTF-8, one after the other.
        offsets: ``int64 [3n + 1]``, where each of them begins, and the end.
        passages: ``int64 [n]``, index of each triple's passage.
    """

    def __init__(self, text: np.ndarray, offsets: np.ndarray, passages: np.ndarray) -> None:
        self.text = text
        self.offsets = offsets
        self.passages = passages

    def __len__(self) -> int:
        return len(self.passages)

    @overload
    def __getitem__(self, number: int) -> Triple: ...
    @overload
    def __getitem__(self, number: slice) -> list[Triple]: ...
    def __getitem__(self, number: int | slice) -> Triple | list[Triple]:
        """One triple, or a slice of them as a list.

        Raises:
            DataError: its bytes are no UTF-8 (a damaged file).
        """
        if isinstance(number, slice):
            return [self._triple(one) for one in range(*number.indices(len(self)))]
        one = operator.index(number)
        if not -len(self) <= one < len(self):
            raise IndexError(f"triple {one}, there are {len(self)}")
        return self._triple(one % len(self))

    def _triple(self, number: int) -> Triple:
        a, b, c, d = self.offsets[3 * number : 3 * number + 4].tolist()
        raw = self.text[a:d].tobytes()
        try:
            subject, predicate, object = raw[: b - a].decode(), raw[b - a : c - a].decode(), raw[c - a :].decode()
        except UnicodeDecodeError:
            raise DataError(f"triple {number}: its text is damaged; build the index again") from None
        return Triple(subject, predicate, object, int(self.passages[number]))


def pack(triples: Iterable[Triple], *, progress: bool = False) -> tuple[TripleList, np.ndarray, np.ndarray]:
    """Put triples into a list and number their entities, by first appearance, the subject before the object.

    Returns:
        The list; ``int32 [n]`` each, the entity of every triple's subject and of its object.

    Raises:
        DataError: a subject or an object is empty, or a part has characters that UTF-8 cannot write.
    """
    text, lengths, passages = bytearray(), array("q"), array("q")
    numbers, ends = EntityNumbers(), array("i")
    rest = iter(triples)
    with tqdm(desc="triples", unit=" triples", disable=not progress, delay=1) as bar:
        while block := list(islice(rest, BLOCK)):
            raw = _encoded(block, len(passages))
            text += b"".join(raw)
            lengths.extend(map(len, raw))
            passages.extend(triple.passage for triple in block)
            ends.extend(map(numbers.__getitem__, [end for triple in block for end in (triple[0], triple[2])]))
            bar.update(len(block))
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.frombuffer(lengths, dtype=np.int64), out=offsets[1:])
    packed = TripleList(np.frombuffer(text, dtype=np.uint8), offsets, np.frombuffer(passages, dtype=np.int64))
    head, tail = np.frombuffer(ends, dtype=np.int32).reshape(-1, 2).T.copy()
    return packed, head, tail


def triple_corpus(triples: Sequence[Triple]) -> Corpus:
    """Triples as passages, each with its number as id, for a store that searches passages (`MilvusSearch`).

    Its search then takes the place of the index' own: ``SyncGe(…, triples=…)``.
    """
    return Corpus(Passage(str(number), "", triple.text) for number, triple in enumerate(triples))


def _encoded(block: Sequence[Triple], first: int) -> list[bytes]:
    """The parts of triples in UTF-8; `first` is the number of the first triple, for messages."""
    for number, triple in enumerate(block, first):
        if not (triple[0].strip() and triple[2].strip()):
            raise DataError(f"triple {number}: {shown(triple[:3])}: subject and object must not be empty")
    try:
        return [part.encode() for triple in block for part in triple[:3]]
    except UnicodeEncodeError as error:
        raise DataError(f"a triple of {shown(error.object)}: allowed are characters that UTF-8 can write") from None
