"""The passages of a collection, in memory and as JSON lines: ``{"id": "…", "title": "…", "text": "…"}``.

Evidence graphs are over sentences, documents are longer: `sentence_corpus` splits them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import replaced
from bgr.utils.json_utils import MAX_TEXT, is_text, parse_json, repr_short, text_problem


@dataclass(frozen=True)
class Passage:
    """A text with its title; `id` is unique in its corpus and does not change."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text, as searches and readers see them, and by which passages are matched."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Corpus(Sequence[Passage]):
    """Passages in a fixed order; `index_of` maps ids to indices. ValueError if two passages have the same id;
    DataError if a text is longer than `MAX_TEXT`."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self.index_of: dict[str, int] = {}
        self._number(0)

    def extended(self, passages: Iterable[Passage]) -> Corpus:
        """These passages and others after them, as one corpus; only the others are checked and hashed. Errors are
        those of the class."""
        longer = Corpus(())
        longer.passages = (*self.passages, *passages)
        longer.index_of = dict(self.index_of)
        longer._number(len(self))
        digest = self._digest.copy()
        _update(digest, longer.passages[len(self) :])
        longer._digest = digest
        return longer

    def _number(self, start: int) -> None:
        """Check the passages from an index on, and enter their ids."""
        for index, passage in enumerate(self.passages[start:], start):
            if len(passage.text) > MAX_TEXT:
                raise DataError(f"passage {repr_short(passage.id)}: text {text_problem(passage.text)}")
            if self.index_of.setdefault(passage.id, index) != index:
                raise ValueError(f"two passages have the id {repr_short(passage.id)}")

    def __len__(self) -> int:
        return len(self.passages)

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Passage, ...]: ...
    def __getitem__(self, index: int | slice) -> Passage | tuple[Passage, ...]:
        return self.passages[index]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all ids, titles and texts in order."""
        return self._digest.hexdigest()

    @cached_property
    def _digest(self) -> hashlib._Hash:
        """The hash before it ends, from which that of more passages goes on."""
        digest = hashlib.sha256()
        _update(digest, self.passages)
        return digest

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_digest"}  # which cannot be pickled


def _update(digest: hashlib._Hash, passages: Iterable[Passage]) -> None:
    for passage in passages:
        digest.update(json.dumps([passage.id, passage.title, passage.text]).encode() + b"\n")


def passage_id(title: str, text: str) -> str:
    """An id that depends only on title and text, so that a passage has the same id in all files."""
    raw = f"{len(title)}:{title}{text}".encode(errors="surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:20]


Document = Passage | str | Mapping[str, Any]
"""A passage, a text, or an object ``{id, title, text}`` with optional id and title."""


def read_documents(documents: Corpus | Iterable[Document] | str | Path) -> Corpus:
    """Passages from a corpus, documents, or the path of a corpus file.

    A document without an id gets a hash of its title and text, followed by a number if the document is repeated.

    Raises:
        DataError: the file cannot be read, or a document is not valid; the message names the line or the item.
    """
    if isinstance(documents, Corpus):
        return documents
    if isinstance(documents, str | Path):
        return load_corpus(documents)
    passages, repeated = [], Counter[str]()
    for number, one in enumerate(documents):
        if isinstance(one, Passage):
            passages.append(one)
            continue
        row = {"text": one} if isinstance(one, str) else dict(one) if isinstance(one, Mapping) else one
        passage = _passage({"id": "", **row} if isinstance(row, dict) else row, f"document {number} (from 0)")
        if not passage.id:
            made = passage_id(passage.title, passage.text)
            repeated[made] += 1
            passage = replace(passage, id=made if repeated[made] == 1 else f"{made}-{repeated[made]}")
        passages.append(passage)
    try:
        return Corpus(passages)
    except ValueError as error:
        raise DataError(f"{error}; ids are unique") from None


ALLOWED = 'a line is {"id": "…", "title": "…", "text": "…"}, the title is optional'


def load_corpus(path: str | Path) -> Corpus:
    """Read a corpus; empty lines are skipped.

    Raises:
        DataError: the file cannot be read, a line is not a passage, or an id is repeated; the message names the line.
    """
    lines: dict[str, int] = {}
    passages = []
    try:
        with Path(path).open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                where = f"{path}:{number}"
                passage = _passage(parse_json(line, where), where)
                first = lines.setdefault(passage.id, number)
                if first != number:
                    raise DataError(
                        f"{where}: the id {repr_short(passage.id)} stands in line {first} already; ids are unique"
                    )
                passages.append(passage)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return Corpus(passages)


def save_corpus(corpus: Sequence[Passage], path: str | Path) -> None:
    """Write passages for `load_corpus`; DataError if the file cannot be written or UTF-8 cannot encode a text."""
    for passage in corpus:
        for key, value in vars(passage).items():
            if not is_text(value):
                raise DataError(f"{path}: passage {repr_short(passage.id)}: {key} must be text that UTF-8 can hold")
    with replaced(path) as file:
        for passage in corpus:
            file.write(json.dumps(vars(passage), ensure_ascii=False) + "\n")


def _passage(row: Any, where: str) -> Passage:
    if not isinstance(row, dict):
        raise DataError(f"{where}: {repr_short(row)} is not a passage; {ALLOWED}")
    unknown = sorted(row.keys() - {"id", "title", "text"})
    if unknown:
        raise DataError(f"{where}: unknown key {repr_short(unknown[0])}; {ALLOWED}")
    row = {"title": "", **row}
    for key in ("id", "text", "title"):
        if not is_text(row.get(key)):
            raise DataError(f"{where}: {key} is {repr_short(row[key]) if key in row else 'missing'}; {ALLOWED}")
        if problem := text_problem(row[key]):
            raise DataError(f"{where}: {key} {problem}")
    return Passage(**row)


def split_sentences(text: str) -> tuple[str, ...]:
    """Split English text into sentences, without blank ones. Abbreviations, initials and numbers do not end a sentence.
    The same text always gives the same sentences, since references rely on it.

    Raises:
        BgrError: sentencex is not installed.
    """
    try:
        import sentencex
    except ImportError as error:
        raise BgrError(f"passages without sentences: {error} (pip install 'bgr[llm]')") from None
    lines = (line for line in text.splitlines() if line.strip())
    found = (sentence.strip() for line in lines for sentence in sentencex.segment("en", line))
    return tuple(sentence for sentence in found if sentence)


def sentence_corpus(corpus: Corpus) -> Corpus:
    """Every sentence as a text of its own, with the title of its document; its id is that of the document, ``#`` and a
    number from 0. A document without a sentence, which may have a title, stays as it is.

    Raises:
        BgrError: sentencex is not installed, or two ids are the same.
    """
    try:
        return Corpus(sentence for passage in corpus for sentence in _sentences(passage))
    except ValueError as error:
        raise BgrError(f"{error}, by the number of a sentence; give the documents other ids") from None


def _sentences(passage: Passage) -> Iterator[Passage]:
    found = split_sentences(passage.text)
    if not found:
        yield passage
    for number, sentence in enumerate(found):
        yield Passage(f"{passage.id}#{number}", passage.title, sentence)
