"""Extraction of triples from passages by a language model: names and triples in one object (GEAR, section 6.2).

Results are kept in a SQLite file, so that an interrupted extraction resumes where it stopped.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.triples.triple import MalformedRowError, Triple, three_parts
from bgr.errors import DataError
from bgr.llm.failures import FailureLimit
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.options import MAX_FAILURE_SHARE
from bgr.llm.structured import TEXT, list_of, object_of, parse_object, row_of
from bgr.llm.usage import Usage
from bgr.utils.cache import check_schema, close_whole, commit_quickly
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import is_text, one_line
from bgr.utils.workers import each_of

STEP = "triples.extract"
MAX_TOKENS = 1536
AGAIN_TEMPERATURE = 0.5
"""Temperature of a repeated request; at 0 the same unusable reply would be sampled again."""

MAX_ROWS = 64
"""Maximum number of names, and of triples, of a passage. Without it a small model repeats one name until its tokens are
used up; in 1,890 passages GPT-3.5 found at most 42 names and 57 triples in one."""

MAX_REASON = 300
"""Maximum number of characters of the reason why a passage failed."""

SCHEMA = object_of(entities=list_of(TEXT, MAX_ROWS), triples=list_of(row_of(TEXT, 3), MAX_ROWS))

ROWS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"triples": {"type": "array", "minItems": 1}},
    "required": ["triples"],
}
"""Required of a reply that does not fit `SCHEMA` even when repeated, so that one bad row does not lose the others."""

WAIT = 60
"""Seconds to wait for another process that writes to the file."""


@dataclass(frozen=True)
class Extraction:
    """The result of one passage.

    Args:
        id: of the passage; not used, but makes the file readable.
        left_out: number of rows of the reply that were not triples.
        failure: the reason of a failure in one line; ``None`` if the passage is finished.
        answers: number of replies so far that could not be used.
    """

    id: str
    entities: tuple[str, ...] = ()
    rows: tuple[tuple[str, str, str], ...] = ()
    left_out: int = 0
    failure: str | None = None
    answers: int = 0


NOT_TRIED = Extraction("", failure="not extracted yet")


class Text(NamedTuple):
    """A passage of an extraction: the key of its result, and the number of replies so far that could not be used."""

    key: str
    passage: Passage
    answers: int


Batch = Sequence[Text]
Answered = tuple[dict[str, Extraction], Usage]
"""The results of a batch by key, and the usage of their calls."""

Each = Callable[[Sequence[Batch]], Generator[Answered, None, None]]
"""`extract_batch` for every batch, in order, by workers."""


@dataclass(frozen=True)
class Extracted:
    """The results of a run over a corpus.

    Args:
        triples: in the order of the corpus.
        entities: names in each passage.
        failures: id of each passage that has no result yet, and why; the next run tries them again.
        left_out: number of rows of all replies that were not triples.
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
    corpus: Corpus,
    asks: LanguageModel,
    path: str | Path,
    *,
    model: str,
    batch: int = 16,
    progress: bool = False,
    max_failure_share: float = MAX_FAILURE_SHARE,
    each: Each | None = None,
) -> Extracted:
    """Extract the triples of every passage that the file does not hold yet, and keep the results, batch by batch.

    An interrupted run resumes: what is kept is not requested again. A passage whose reply cannot be used is kept as a
    failure and requested again in the next run.

    Args:
        corpus: the passages. Equal ones are requested once.
        path: file to keep the results in, by prompt, model, title and text.
        model: name of the model, so that models do not share results.
        batch: passages in one call of `asks`, if it answers a batch together.
        max_failure_share: share of the passages that may fail because a call was not answered.
        each: `extract_batch` for every batch, in order; by default in this process, with `asks`.

    Raises:
        DataError: the file cannot be used.
        BgrError: too many calls failed, or raised by `asks` (the budget is used up, the model cannot be reached); all
            previous batches are kept.
    """
    keys = [hash_texts(prompt(), model, passage.title, passage.text) for passage in corpus]
    usage, limit = Usage(), FailureLimit(max_failure_share, len(corpus), "passage")
    with ExtractionStore(path) as store:
        kept = {key: store.get(key) or NOT_TRIED for key in keys}
        todo = {key: passage for key, passage in zip(keys, corpus, strict=True) if kept[key].failure is not None}
        done = len(kept) - len(todo)
        with tqdm(total=len(kept), initial=done, desc="extract", unit="passage", disable=not progress) as bar:
            texts = [Text(key, passage, kept[key].answers) for key, passage in todo.items()]
            size = batch if each is not None or asks.concurrency == 1 else 1
            batches = [texts[start : start + size] for start in range(0, len(texts), size)]
            with closing((each or partial(_each_batch, asks))(batches)) as answered:
                for found, used in answered:
                    store.put(found)
                    failures = [one.failure for one in found.values() if one.failure is not None]
                    limit.add(used.unanswered, failures[0] if failures else None)
                    kept |= found
                    usage += used
                    bar.update(len(found))
    results = [kept[key] for key in keys]
    return Extracted(
        triples=tuple(Triple(*row, index) for index, one in enumerate(results) for row in one.rows),
        entities=tuple(one.entities for one in results),
        failures={p.id: one.failure for p, one in zip(corpus, results, strict=True) if one.failure is not None},
        left_out=sum(one.left_out for one in results),
        usage=usage,
    )


def _each_batch(asks: LanguageModel, batches: Sequence[Batch]) -> Generator[Answered, None, None]:
    with closing(each_of(partial(extract_batch, asks), batches, asks.workers)) as results:
        yield from (result for _, result in results)


def extract_batch(asks: LanguageModel, batch: Batch) -> Answered:
    """The results of a batch, by one call of the language model."""
    replies = asks.ask([request(one.passage, one.answers) for one in batch])
    found = {one.key: extraction(one.passage.id, reply, one.answers) for one, reply in zip(batch, replies, strict=True)}
    return found, sum((reply.usage for reply in replies), Usage())


@cache
def prompt() -> str:
    """The text of ``prompts/extract.md``; ``{passage}`` stands for the passage."""
    return files("bgr.collection.triples").joinpath("prompts/extract.md").read_text(encoding="utf-8")


def request(passage: Passage, answers: int = 0) -> Request:
    """The request for a passage; `answers`, the number of unusable replies so far, changes the sample."""
    text = prompt().replace("{passage}", passage.whole)
    temperature = AGAIN_TEMPERATURE if answers else 0.0
    return Request(STEP, (Message("user", text),), SCHEMA, MAX_TOKENS, temperature, answers)


def extraction(id: str, reply: Reply, answers: int = 0) -> Extraction:
    """The content of a reply, or the reason of its failure. An empty list of triples is a result if the reply fits."""
    failure = reply.failure
    value = reply.value if failure is None else parse_object(reply.text, ROWS, cut=reply.cut)[0]
    rows = value.get("triples") if isinstance(value, dict) else None
    if isinstance(rows, list):
        good = []
        for row in rows:
            with suppress(MalformedRowError):
                good.append(three_parts(row))
        if good or not rows:
            return Extraction(id, distinct_texts(value.get("entities")), tuple(good), len(rows) - len(good))
        failure = failure or "no row of the reply is a triple"
    failure = " ".join((failure or "the reply has no list of triples").split())[:MAX_REASON]
    # it may quote the model, which may write half of a surrogate pair
    failure = failure.encode(errors="replace").decode()
    return Extraction(id, failure=failure, answers=answers + bool(reply.text))


class ExtractionStore:
    """The extractions in a file, by key; the file is created if it does not exist.

    Records are complete or absent, however a process ends.

    Raises:
        DataError: the file or its folder cannot be read or written, or the file is something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, timeout=WAIT)
            check_schema(self._file, "extractions")  # another database would be changed
            self._file.execute("CREATE TABLE IF NOT EXISTS extractions (key TEXT PRIMARY KEY, body TEXT NOT NULL)")
            commit_quickly(self._file)

    def __enter__(self) -> ExtractionStore:
        return self

    def __exit__(self, *_: object) -> None:
        close_whole(self._file)

    def get(self, key: str) -> Extraction | None:
        """The extraction with the given key; ``None`` if it is missing or damaged."""
        with self._errors():
            found = self._file.execute("SELECT body FROM extractions WHERE key = ?", (key,)).fetchone()
        return _parsed(found[0]) if found else None

    def put(self, extractions: Mapping[str, Extraction]) -> None:
        """Keep all of the extractions or none. A failure never replaces a finished one."""
        with self._errors(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            rows = [
                (key, json.dumps(vars(one)))
                for key, one in extractions.items()
                if one.failure is None or (self.get(key) or NOT_TRIED).failure is not None
            ]
            self._file.executemany("INSERT OR REPLACE INTO extractions VALUES (?, ?)", rows)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise DataError(f"{self.path}: not a file of extractions that can be used: {one_line(error)}") from None


def distinct_texts(values: Any) -> tuple[str, ...]:
    """The distinct non-empty texts of a list, each on one line; empty for anything but a list."""
    texts = [" ".join(v.split()) for v in values if is_text(v)] if isinstance(values, list) else []
    return tuple(dict.fromkeys(text for text in texts if text))


def _parsed(body: Any) -> Extraction | None:
    """The extraction in a record, which another program may have written."""
    try:
        record = json.loads(body)
        rows = tuple(three_parts(row) for row in record["rows"])
        failure, left_out, answers = record["failure"], record["left_out"], record["answers"]
    except (ValueError, TypeError, KeyError, RecursionError, MalformedRowError):
        return None
    if not isinstance(failure, str | None) or type(left_out) is not int or type(answers) is not int:
        return None
    entities = distinct_texts(record.get("entities"))
    return Extraction(str(record.get("id")), entities, rows, left_out, failure, answers)
