"""OpenIE files in the form of the HippoRAG project, read and written: ``{"docs": [{title, text, …}, …]}``."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json, replaced

MAX_QUOTED = 5
"""Malformed items that are quoted."""


@dataclass(frozen=True)
class Imported:
    """The triples that a file holds for a corpus.

    Args:
        triples: in the order of the corpus, and of the file within a passage.
        rows: rows of the passages that are in the corpus, malformed ones too.
        malformed: how many rows and passages of the file were left out, by reason.
        quoted: the first few of them, one line each, with where they stand.
        unmatched: passages of the file that the corpus lacks, or holds less often.
        bare: indices of the passages of which the file holds nothing.
    """

    triples: tuple[Triple, ...]
    rows: int
    malformed: Mapping[str, int]
    quoted: tuple[str, ...]
    unmatched: int
    bare: tuple[int, ...]

    @property
    def report(self) -> str:
        """All counts in one line."""
        left_out = ", ".join(f"{count} {reason}" for reason, count in self.malformed.items()) or "none"
        return (
            f"{len(self.triples)} triples of {self.rows} rows (left out: {left_out}); passages of the file that the "
            f"corpus lacks: {self.unmatched}, of the corpus that the file lacks: {len(self.bare)}"
        )


class _Import:
    """Counts while a file is read."""

    def __init__(self, corpus: Corpus) -> None:
        self.triples: list[list[Triple]] = [[] for _ in corpus]
        self.free: defaultdict[str, deque[int]] = defaultdict(deque)
        for index, passage in enumerate(corpus):
            self.free[passage.whole].append(index)
        self.rows = self.unmatched = 0
        self.malformed: Counter[str] = Counter()
        self.quoted: list[str] = []

    def leave_out(self, reason: str, line: str) -> None:
        self.malformed[reason] += 1
        if len(self.quoted) < MAX_QUOTED:
            self.quoted.append(line)

    def passage(self, doc: Any, where: str) -> None:
        """One passage of the file; of equal ones in the corpus, each takes the triples of one in the file."""
        try:
            whole = _whole(doc)
            rows = doc.get("extracted_triples")
            if not isinstance(rows, list):
                raise MalformedRowError("passage without a list of triples", rows)
        except MalformedRowError as error:
            return self.leave_out(error.reason, f"{where}: {error}")
        if not self.free.get(whole):
            self.unmatched += 1
            return None
        index = self.free[whole].popleft()
        self.rows += len(rows)
        for number, row in enumerate(rows):
            try:
                self.triples[index].append(Triple(*three_parts(row), index))
            except MalformedRowError as error:
                self.leave_out(error.reason, f"{where}: extracted_triples[{number}]: {error}")
        return None


def read_openie(path: str | Path, corpus: Corpus) -> Imported:
    """The triples that a file has for the passages of a corpus, matched by title and text together.

    Malformed rows and passages are left out and counted.

    Args:
        path: a file with ``docs``, each with ``extracted_triples`` and either ``title`` and ``text`` or ``passage``
            (title and text on lines of their own).
        corpus: the passages.

    Raises:
        DataError: the file is missing, is not JSON, has no list ``docs``, or none of its passages is in the corpus.
    """
    record = read_json(path)
    docs = record.get("docs") if isinstance(record, dict) else None
    if not isinstance(docs, list):
        raise DataError(f"{path}: must hold an object with a list 'docs', as HippoRAG's OpenIE files do")
    found = _Import(corpus)
    for number, doc in enumerate(docs):
        found.passage(doc, f"{path}: docs[{number}]")
    # indices that were taken are no longer free
    bare = tuple(sorted(index for indices in found.free.values() for index in indices))
    if docs and len(bare) == len(corpus):
        raise DataError(f"{path}: none of its {len(docs)} passages is in the corpus of {len(corpus)}")
    triples = tuple(triple for rows in found.triples for triple in rows)
    return Imported(triples, found.rows, dict(found.malformed), tuple(found.quoted), found.unmatched, bare)


def _whole(doc: Any) -> str:
    """Title and text, as `Passage.whole` has them."""
    if not isinstance(doc, dict):
        raise MalformedRowError("passage that is no object", doc)
    title, text = doc.get("title"), doc.get("text")
    if isinstance(title, str) and isinstance(text, str):
        return Passage("", title, text).whole
    if isinstance(doc.get("passage"), str):
        return doc["passage"]
    raise MalformedRowError("passage without a text", sorted(map(str, doc)))


def write_openie(
    path: str | Path,
    corpus: Corpus,
    triples: Sequence[Triple],
    *,
    entities: Sequence[Sequence[str]] | None = None,
    without: Mapping[str, str] | None = None,
) -> None:
    """Write ``{"docs": [{idx, title, text, passage, extracted_entities, extracted_triples}, …]}``, a passage a line.

    What was under the name is replaced at the end.

    Args:
        path: of the file.
        corpus: the passages.
        triples: `Triple.passage` is in the corpus.
        entities: names in each passage; the ends of its triples where they are not given.
        without: ids of passages that have no result; they are left out, so that a reader counts them.

    Raises:
        DataError: the file cannot be written.
    """
    rows: list[list[Triple]] = [[] for _ in corpus]
    for triple in triples:
        rows[triple.passage].append(triple)
    known = [index for index, passage in enumerate(corpus) if passage.id not in (without or {})]
    with replaced(path) as file:
        file.write('{"docs": [')
        for number, index in enumerate(known):
            names = entities[index] if entities is not None else _ends(rows[index])
            doc = _doc(corpus[index], names, rows[index])
            file.write(f"{',' if number else ''}\n{json.dumps(doc, ensure_ascii=False)}")
        file.write("\n]}\n")


def _doc(passage: Passage, entities: Sequence[str], triples: Sequence[Triple]) -> dict[str, Any]:
    return {
        "idx": passage.id,
        "title": passage.title,
        "text": passage.text,
        "passage": passage.whole,
        "extracted_entities": list(entities),
        "extracted_triples": [list(triple[:3]) for triple in triples],
    }


def _ends(triples: Sequence[Triple]) -> list[str]:
    return list(dict.fromkeys(end for triple in triples for end in (triple.subject, triple.object)))
