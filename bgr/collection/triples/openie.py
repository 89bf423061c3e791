"""OpenIE files in the form of the HippoRAG project, read and written: ``{"docs": [{title, text, …}, …]}``."""

from __future__ import annotations

import json
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json, replaced

MAX_QUOTED = 5
"""Number of malformed items that are quoted."""


@dataclass(frozen=True)
class Imported:
    """The triples that a file holds for a corpus.

    Args:
        triples: in the order of the corpus, and of the file within a passage.
        rows: number of rows of the passages that are in the corpus, malformed ones included.
        malformed: number of rows and passages of the file that were left out, by reason.
        quoted: the first few of them, one line each, with their places.
        unmatched: number of passages of the file that are missing in the corpus, or occur there less often.
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


def read_openie(path: str | Path, corpus: Corpus) -> Imported:
    """The triples that a file has for the passages of a corpus, matched by title and text together.

    Malformed rows and passages are left out and counted. Of equal passages in the corpus, each takes the triples of one
    in the file.

    Args:
        path: a file with ``docs``, each with ``extracted_triples`` and either ``title`` and ``text`` or ``passage``
            (title and text on lines of their own).

    Raises:
        DataError: the file is missing, is not JSON, has no list ``docs``, or none of its passages is in the corpus.
    """
    record = read_json(path)
    docs = record.get("docs") if isinstance(record, dict) else None
    if not isinstance(docs, list):
        raise DataError(f"{path}: must hold an object with a list 'docs', as HippoRAG's OpenIE files do")
    free: defaultdict[str, deque[int]] = defaultdict(deque)  # indices of the passages that have no triples yet
    for index, passage in enumerate(corpus):
        free[passage.whole].append(index)
    triples: list[list[Triple]] = [[] for _ in corpus]
    malformed, quoted = Counter[str](), list[str]()
    rows = unmatched = 0

    def leave_out(error: MalformedRowError, where: str) -> None:
        malformed[error.reason] += 1
        if len(quoted) < MAX_QUOTED:
            quoted.append(f"{path}: {where}: {error}")

    for number, doc in enumerate(docs):
        try:
            whole, found = _text_and_rows(doc)
        except MalformedRowError as error:
            leave_out(error, f"docs[{number}]")
            continue
        if not free.get(whole):
            unmatched += 1
            continue
        index = free[whole].popleft()
        rows += len(found)
        for place, row in enumerate(found):
            try:
                triples[index].append(Triple(*three_parts(row), index))
            except MalformedRowError as error:
                leave_out(error, f"docs[{number}]: extracted_triples[{place}]")
    bare = tuple(sorted(index for indices in free.values() for index in indices))
    if docs and len(bare) == len(corpus):
        raise DataError(f"{path}: none of its {len(docs)} passages is in the corpus of {len(corpus)}")
    return Imported(tuple(chain.from_iterable(triples)), rows, dict(malformed), tuple(quoted), unmatched, bare)


def _text_and_rows(doc: Any) -> tuple[str, list[Any]]:
    """Title and text of a passage, as `Passage.whole` has them, and its rows."""
    if not isinstance(doc, dict):
        raise MalformedRowError("passage that is no object", doc)
    title, text, rows = doc.get("title"), doc.get("text"), doc.get("extracted_triples")
    if isinstance(title, str) and isinstance(text, str):
        whole = Passage("", title, text).whole
    elif isinstance(doc.get("passage"), str):
        whole = doc["passage"]
    else:
        raise MalformedRowError("passage without a text", sorted(map(str, doc)))
    if not isinstance(rows, list):
        raise MalformedRowError("passage without a list of triples", rows)
    return whole, rows


def write_openie(
    path: str | Path,
    corpus: Corpus,
    triples: Sequence[Triple],
    *,
    entities: Sequence[Sequence[str]] | None = None,
    without: Mapping[str, str] | None = None,
) -> None:
    """Write ``{"docs": [{idx, title, text, passage, extracted_entities, extracted_triples}, …]}``, a passage per line.

    Args:
        path: an existing file is replaced at the end.
        triples: `Triple.passage` is in the corpus.
        entities: names in each passage; by default the subjects and objects of its triples.
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
            passage = corpus[index]
            ends = dict.fromkeys(end for triple in rows[index] for end in (triple.subject, triple.object))
            doc = {
                "idx": passage.id,
                "title": passage.title,
                "text": passage.text,
                "passage": passage.whole,
                "extracted_entities": list(ends if entities is None else entities[index]),
                "extracted_triples": [list(triple[:3]) for triple in rows[index]],
            }
            file.write(f"{',' if number else ''}\n{json.dumps(doc, ensure_ascii=False)}")
        file.write("\n]}\n")
