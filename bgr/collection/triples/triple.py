"""Triples (a fact in three parts, and the passage it was read from), their entities, and lists of millions of them."""

from __future__ import annotations

import operator
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, overload

import numpy as np
from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, repr_short

BLOCK = 16384
"""Number of triples that are Python objects at the same time while a list is packed."""


class Triple(NamedTuple):
    """Three texts, and the index of the passage in the corpus (GEAR, section 3: a triple belongs to exactly one)."""

    subject: str
    predicate: str
    object: str
    passage: int

    @property
    def text(self) -> str:
        """One line for search and for readers."""
        return f"{self.subject} {self.predicate} {self.object}"


class MalformedRowError(DataError):
    """A row that is not a triple; `reason` is one of a few phrases, under which such rows are counted."""

    def __init__(self, reason: str, row: Any) -> None:
        super().__init__(f"{reason}: {repr_short(row)}")
        self.reason = reason


def three_parts(row: Any) -> tuple[str, str, str]:
    """Subject, predicate and object, each on one line; MalformedRowError if these are not three non-empty texts."""
    if not isinstance(row, list):
        raise MalformedRowError("not a list", row)
    if len(row) != 3:
        raise MalformedRowError("not three parts", row)
    if not all(map(is_text, row)):
        raise MalformedRowError("a part is not text", row)
    subject, predicate, object = (" ".join(part.split()) for part in row)
    if not (subject and predicate and object):
        raise MalformedRowError("an empty part", row)
    return subject, predicate, object


def entity_key(name: str) -> str:
    """The key that all names of an entity share: NFKC, case-folded, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class EntityNumbers(dict[str, int]):
    """From a name to the number of its entity, from 0. Looking up a new name assigns a number."""

    def __init__(self) -> None:
        self._of_key: dict[str, int] = {}

    def __missing__(self, name: str) -> int:
        number = self[name] = self._of_key.setdefault(entity_key(name), len(self._of_key))
        return number


def members_of(head: np.ndarray, tail: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The triples of every entity, from the entities of their subjects and objects, ``int32 [n]`` each.

    Returns:
        ``int64 [entities + 1]`` starts and ``int32 [m]`` members: those of entity `e` are
        ``members[starts[e] : starts[e + 1]]``, ascending and distinct.
    """
    entities = int(max(head.max(), tail.max())) + 1 if len(head) else 0
    ends = np.stack([head, tail], axis=1)  # [n, 2]
    once = np.stack([np.ones(len(head), dtype=bool), head != tail], axis=1)
    owner = ends[once]  # [m], by triple
    triple = np.repeat(np.arange(len(head), dtype=np.int32), once.sum(1))
    starts = np.zeros(entities + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=entities), out=starts[1:])
    return starts, triple[np.argsort(owner, kind="stable")]


class TripleList(Sequence[Triple]):
    """A list of triples in one buffer, which saves a Python object for each; indexing creates the `Triple`.

    Args:
        text: ``uint8 [bytes]``, all subjects, predicates and objects in UTF-8, concatenated.
        offsets: ``int64 [3n + 1]``, start of each of them, and the end.
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
        """One triple, or a slice of them as a list; DataError if the bytes are not UTF-8 (a damaged file)."""
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
            raise DataError(f"triple {number}: its text is damaged; build the collection again") from None
        return Triple(subject, predicate, object, int(self.passages[number]))


def pack(triples: Iterable[Triple], *, progress: bool = False) -> tuple[TripleList, np.ndarray, np.ndarray]:
    """Pack triples into a list and number their entities by first appearance, the subject before the object.

    Returns:
        The list, and the entities of the subjects and of the objects, ``int32 [n]`` each.

    Raises:
        DataError: a subject or an object is empty, or a part has characters that UTF-8 cannot write.
    """
    text, lengths, passages = bytearray(), array("q"), array("q")
    numbers, ends = EntityNumbers(), array("i")
    rest = iter(triples)
    with tqdm(desc="triples", unit=" triples", disable=not progress, delay=1) as bar:
        while block := list(islice(rest, BLOCK)):
            raw = _utf8_parts(block, len(passages))
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
    """Triples as passages with their numbers as ids, for `MilvusSearch`, whose search then replaces that of the index:
    ``Scope(…, triple_search=…)`` (`bgr.retrievers.scope`)."""
    return Corpus(Passage(str(number), "", triple.text) for number, triple in enumerate(triples))


def _utf8_parts(block: Sequence[Triple], first: int) -> list[bytes]:
    """All parts of the triples; `first` is the number of the first one, for messages."""
    for number, triple in enumerate(block, first):
        if not (triple[0].strip() and triple[2].strip()):
            raise DataError(f"triple {number}: {repr_short(triple[:3])}: subject and object must not be empty")
    try:
        return [part.encode() for triple in block for part in triple[:3]]
    except UnicodeEncodeError as error:
        raise DataError(f"a triple with {repr_short(error.object)}: UTF-8 cannot encode its characters") from None
