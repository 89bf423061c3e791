"""Triples out of passages by a language model: names and triples together, in one object (GEAR, section 6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.extraction_store import Extraction, ExtractionStore, texts_of
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import Asks, Reply
from bgr.llm.structured import TEXT, list_of, object_of, parse_object, row_of
from bgr.llm.usage import Usage
from bgr.utils.hashing import hash_texts

STEP = "triples.extract"
MAX_TOKENS = 1536
AGAIN_TEMPERATURE = 0.5
"""Where the likeliest reply of a model could not be used, it would be the same the next time."""

MOST = 64
"""Names, and triples, of a passage. Without a limit a small model repeats one name until its tokens are used up; of
1,890 passages GPT-3.5 found at most 42 names and 57 triples in one."""

MOST_SAID = 300
"""Characters of why a passage failed."""

SCHEMA = object_of(entities=list_of(TEXT, MOST), triples=list_of(row_of(TEXT, 3), MOST))

ROWS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"triples": {"type": "array", "minItems": 1}},
    "required": ["triples"],
}
"""What a reply must hold that does not fit `SCHEMA` even when it was asked for again: one bad row loses no others."""


@dataclass(frozen=True)
class Extracted:
    """What is known of a corpus after a run.

    Args:
        triples: in the order of the corpus.
        entities: names in each passage.
        failures: id of each passage that has no result yet, and why; run again to try them again.
        left_out: rows of all replies that were no triples.
        usage: of this run.
    """

    triples: tuple[Triple, ...]
    entities: tuple[tuple[str, ...], ...]
    failures: Mapping[str, str]
    left_out: int
    usage: Usage

    @property
    def report(self) -> str:
        """All counts in one line."""
        why = ", ".join(f"{count} × {reason}" for reason, count in Counter(self.failures.values()).most_common(3))
        return (
            f"{len(self.triples)} triples of {len(self.entities)} passages; rows left out: {self.left_out}; passages "
            f"that failed: {len(self.failures)}{f' ({why}); run again to try them again' if why else ''}"
        )


def extract_triples(
    corpus: Corpus, asks: Asks, path: str | Path, *, model: str, batch: int = 16, progress: bool = False
) -> Extracted:
    """Ask for every passage that the file does not hold yet, and keep what comes, batch by batch.

    Stopped at any point and run again, it asks for nothing that is kept. A passage whose reply cannot be used is kept
    as a failure and asked for again in the next run; it ends nothing.

    Args:
        corpus: the passages. Equal ones are asked for once.
        asks: the language model.
        path: file to keep the results in; passages are found in it by prompt, model, title and text.
        model: name of the model, so that no two share results.
        batch: passages in one call of `asks`.
        progress: show a bar on standard error.

    Raises:
        DataError: the file cannot be used.
        BgrError: what `asks` raises (its budget is used up, the model cannot be reached); all batches before are kept.
    """
    keys = [hash_texts(prompt(), model, passage.title, passage.text) for passage in corpus]
    usage = Usage()
    with ExtractionStore(path) as store:
        kept = {key: store.get(key) for key in keys}
        todo = {key: passage for key, passage in zip(keys, corpus, strict=True) if _open(kept[key])}
        done = len(kept) - len(todo)
        with tqdm(total=len(kept), initial=done, desc="extract", unit="passage", disable=not progress) as bar:
            rest = iter(todo.items())
            while part := [(key, passage, _answers(kept[key])) for key, passage in islice(rest, batch)]:
                replies = asks.ask([request(passage, answers) for _, passage, answers in part])
                found = {k: extraction(p.id, r, a) for (k, p, a), r in zip(part, replies, strict=True)}
                store.put(found)
                kept |= found
                usage = sum((reply.usage for reply in replies), usage)
                bar.update(len(part))
    return _gathered(corpus, [kept[key] for key in keys], usage)


@cache
def prompt() -> str:
    """The text of ``prompts/extract.md``; ``{passage}`` stands for the passage."""
    return files("bgr.collection.triples").joinpath("prompts/extract.md").read_text(encoding="utf-8")


def request(passage: Passage, answers: int = 0) -> Request:
    """The call for a passage; `answers` is how many replies could not be used before, and makes another draw."""
    text = prompt().replace("{passage}", passage.whole)
    temperature = AGAIN_TEMPERATURE if answers else 0.0
    return Request(STEP, (Message("user", text),), SCHEMA, MAX_TOKENS, temperature, answers)


def extraction(id: str, reply: Reply, answers: int = 0) -> Extraction:
    """What a reply says, or why it says nothing. An empty list of triples is a result where the reply fits."""
    failure = reply.failure
    value = reply.value if failure is None else parse_object(reply.text, ROWS)[0]
    rows = value.get("triples") if isinstance(value, dict) else None
    if isinstance(rows, list):
        good = _triples(rows)
        if good or not rows:
            entities = texts_of(value.get("entities"))
            return Extraction(id, entities, good, len(rows) - len(good))
        failure = failure or "no row of the reply is a triple"
    failure = " ".join((failure or "the reply has no list of triples").split())[:MOST_SAID]
    # a part of a model's output may be in it
    failure = failure.encode(errors="replace").decode()
    return Extraction(id, failure=failure, answers=answers + bool(reply.text))


def _open(found: Extraction | None) -> bool:
    return found is None or found.failure is not None


def _answers(found: Extraction | None) -> int:
    return found.answers if found else 0


def _triples(rows: Sequence[Any]) -> tuple[tuple[str, str, str], ...]:
    good = []
    for row in rows:
        try:
            good.append(three_parts(row))
        except MalformedRowError:
            continue
    return tuple(good)


def _gathered(corpus: Corpus, found: Sequence[Extraction | None], usage: Usage) -> Extracted:
    known = [one for one in found if one is not None]  # all of them
    failures = {p.id: one.failure for p, one in zip(corpus, known, strict=True) if one.failure is not None}
    triples = tuple(Triple(*row, place) for place, one in enumerate(known) for row in one.rows)
    left_out = sum(one.left_out for one in known)
    return Extracted(triples, tuple(one.entities for one in known), failures, left_out, usage)
