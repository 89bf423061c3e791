"""Writing triples in the form of the HippoRAG project, which `read_openie` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.search.corpus import Corpus, Passage
from bgr.search.writing import replaced
from bgr.triples.triple import Triple


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
        triples: `Triple.place` is in the corpus.
        entities: names in each passage; the ends of its triples where they are not given.
        without: ids of passages of which nothing is known; they are left out, so that a reader counts them.

    Raises:
        DataError: the file cannot be written.
    """
    rows: list[list[Triple]] = [[] for _ in corpus]
    for triple in triples:
        rows[triple.place].append(triple)
    known = [place for place, passage in enumerate(corpus) if passage.id not in (without or {})]
    with replaced(path) as file:
        file.write('{"docs": [')
        for number, place in enumerate(known):
            names = entities[place] if entities is not None else _ends(rows[place])
            doc = _doc(corpus[place], names, rows[place])
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
