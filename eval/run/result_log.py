"""Results kept question by question, so that an interrupted run resumes where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import BgrError, DataError
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import parse_json
from eval.run.question_result import QuestionResult


def result_key(corpus_hash: str, system: str, settings: Mapping[str, Any]) -> str:
    """The key of all that a result depends on besides its question: the passages, the system and all its settings."""
    return hash_texts(corpus_hash, system, json.dumps(settings, sort_keys=True))[:20]


def given_hash(question: MultihopQuestion, data: MultihopData) -> str:
    """The hash of all that comes with a question besides its text: systems may be given its passages and their
    sentences, its gold evidence, or the number of gold passages."""
    graph = question.graph.to_json() if question.graph is not None else None
    sentences = [data.sentences.get(one) for one in question.context]
    parts = [question.context, sentences, question.gold, question.missing, graph]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


class ResultLog:
    """One file of JSON lines, one line a question and system, written as results come; a context manager.

    A line that a kill cut off, or that is damaged, counts as not there: its question is run again. What belongs to
    another key (another corpus, other settings) stays in the file. A line of an older version, which does not say what
    came with its question, counts for whatever comes with it.

    Raises:
        BgrError: another process holds the file.
        DataError: it cannot be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.damaged = 0
        self._lock = FileLock(self.path.with_suffix(".lock"))
        self._found: dict[tuple[str, str, str, str | None], QuestionResult] = {}
        self._file: BinaryIO | None = None

    def __enter__(self) -> ResultLog:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise BgrError(f"{self.path}: another process writes it; wait for it, or give another folder") from None
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        try:
            self._file = self.path.open("ab+")
            self._read(self._file)
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise DataError(f"{self.path}: cannot be read: {error.strerror or error}") from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def get(self, key: str, id: str, question: str, given: str) -> QuestionResult | None:
        """The result that is kept for a question, by key, id, text and `given_hash`."""
        kept = self._found.get((key, id, question, given))
        return kept if kept is not None else self._found.get((key, id, question, None))

    def add(self, key: str, system: str, question: str, given: str, found: QuestionResult) -> None:
        """Keep a result: it is on disk when this returns, whatever becomes of the process."""
        if self._file is None:
            raise BgrError(f"{self.path}: the log is not open, allowed: inside its with block")
        about = {"key": key, "system": system, "question": question, "given": given}
        line = json.dumps({**about, **found.to_json()}, ensure_ascii=False)
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        self._found[key, found.id, question, given] = found

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        whole = 0
        for line in file:
            if not line.endswith(b"\n"):
                self.damaged += 1
                file.truncate(whole)  # so that the next line does not join what was cut off
                break
            whole += len(line)
            try:
                record = parse_json(line.decode(), str(self.path))
                found = QuestionResult.from_json(record)
                given = str(record["given"]) if "given" in record else None
                self._found[str(record["key"]), found.id, str(record["question"]), given] = found
            except (DataError, UnicodeDecodeError, KeyError):
                self.damaged += 1
        file.seek(0, 2)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._lock.release()
