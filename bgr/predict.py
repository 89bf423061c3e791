"""Answers to a file of questions, as `bgr predict` writes them: in batches, and resumed after an interruption.

Records are appended to ``OUT.part``, whose first line names the run. A run that is repeated keeps its whole batches and
goes on after them, so that every question is answered in the same batch, and the file has the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr import __version__
from bgr.ask import check_collection, checkpoint_path, open_collection
from bgr.data.records import as_record, get_field, get_text, get_texts
from bgr.errors import BgrError, DataError
from bgr.models.config import DIRECTIONS
from bgr.retrievers.graph_hop.options import MAX_FACTS, RANKER, PredictOptions
from bgr.utils.atomic_io import new_file, remove_half_written, writing
from bgr.utils.hashing import hash_files, hash_texts
from bgr.utils.json_utils import is_text, parse_json, repr_short, text_problem
from bgr.utils.output_lock import output_locks
from bgr.utils.progress import progress_bar
from bgr.utils.ray_map import anywhere, map_work

if TYPE_CHECKING:
    from bgr.reader.answer import Answer

BATCH = 64
"""Number of questions that are answered and written together."""

FIELDS = ("question", "answer", "confidence", "completeness", "edges", "evidence", "limits")
"""Fields of an answer's record (`Answer.to_json`) that are written, after the id."""


@dataclass(frozen=True)
class Predicted:
    """The number of records in the file, and of those with an error."""

    records: int
    failed: int

    def to_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True)
class Asked:
    """A line of the file of questions.

    Args:
        id: text or number; ``None`` if the line has no valid one.
        question: without repeated spaces.
        facts: the candidates; ``None`` if a collection is searched.
        error: why the line is not valid; empty if it is.
    """

    id: str | int | None
    question: str = ""
    facts: tuple[str, ...] | None = None
    error: str = ""


def predict(options: PredictOptions) -> Predicted:
    """Answer a file of questions.

    Raises:
        DataError: the questions or the collection cannot be read, or the output exists or cannot be written, or its
            unfinished file is of another run.
        CheckpointError: the checkpoint or its reader cannot be downloaded or loaded.
        BgrError: another process is writing the output.
    """
    corpus = "" if options.collection is None else check_collection(options.collection)
    part = options.out.with_name(f"{options.out.name}.part")
    if options.out.is_dir():
        raise DataError(f"{options.out}: is a folder, allowed: a file")
    if options.out.exists() and part.exists() and not options.overwrite:
        _remove_complete(part, options.out)
    if options.out.exists() and not options.overwrite:
        raise DataError(f"{options.out}: exists already; give --overwrite to replace it")
    asked, given = read_questions(options.questions, own_facts=options.collection is None)
    folder = checkpoint_path(options.checkpoint)  # may be downloaded, so it comes after quick checks
    options = replace(options, checkpoint=str(folder))
    header = json.dumps({"run": _run_key(options, folder, corpus, given)}).encode() + b"\n"
    with output_locks([options.out]):
        done = _resume(part, header, asked, overwrite=options.overwrite)
        try:
            if done < len(asked):
                _answer_rest(options, asked, done, part)
        except BgrError:
            if part.stat().st_size == len(header):  # nothing was answered: nothing to resume
                part.unlink()
            raise
        remove_half_written(options.out.parent, options.out.name)  # of a run that was killed just here
        with part.open("rb") as file, new_file(options.out) as half, half.open("wb") as target:
            file.readline()
            shutil.copyfileobj(file, target)
        part.unlink()
    return Predicted(len(asked), sum(bool(one.error) for one in asked))


def read_questions(path: Path, *, own_facts: bool) -> tuple[list[Asked], str]:
    """The lines of a file of questions, of which empty ones are skipped, and the file's SHA-256.

    The file is read once, since it may be a pipe, which is empty when it is read again. The hash is that of
    `hash_files`, without the name of a pipe, which tells nothing (``/dev/fd/63``).

    Args:
        own_facts: each line has its candidates.

    Raises:
        DataError: the file cannot be read, or has no line.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    first: dict[str | int, int] = {}
    lines = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    found = [_asked(line, number, first, own_facts) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise DataError(f'{path}: no questions; one {{"id", "question"}} a line is expected')
    name = path.name if path.is_file() else ""
    return found, hashlib.sha256(name.encode(errors="surrogateescape") + b"\0" + raw).hexdigest()


def _asked(raw: bytes, number: int, first: dict[str | int, int], own_facts: bool) -> Asked:
    """A line, and if it is not valid why; `first` has the line of each id so far."""
    where, name = f"line {number}", None
    try:
        record = as_record(parse_json(raw.decode(), where), where)
        found = get_field(record, "id", where, "a text or an integer")
        if not (is_text(found) or (isinstance(found, int) and not isinstance(found, bool))):
            raise DataError(f"{where}: id is {repr_short(found)}, allowed: a text or an integer")
        name = found
        if first.setdefault(found, number) != number:
            raise DataError(f"{where}: the id {repr_short(found)} is that of line {first[found]}; ids are unique")
        question = " ".join(get_text(record, "question", where).split())
        if not question:
            raise DataError(f"{where}: the question is empty")
        if problem := text_problem(question):
            raise DataError(f"{where}: the question {problem}")
        if not own_facts:
            return Asked(name, question)
        facts = get_texts(record, "facts", where)
        if not 1 <= len(facts) <= MAX_FACTS:
            raise DataError(f"{where}: {len(facts):,} facts, allowed: 1 to {MAX_FACTS:,}")
        for place, fact in enumerate(facts):
            if problem := text_problem(fact):
                raise DataError(f"{where}: fact {place} {problem}")
        return Asked(name, question, facts)
    except UnicodeDecodeError:
        return Asked(name, error=f"{where}: not UTF-8 text")
    except DataError as error:
        return Asked(name, error=str(error))


def _answer_rest(options: PredictOptions, asked: Sequence[Asked], done: int, part: Path) -> None:
    """Answer the questions after the first `done`, and append their records, one batch at a time."""
    batches = [asked[start : start + BATCH] for start in range(done, len(asked), BATCH)]
    records = map_work(partial(Answering, _absolute(options)), batches, options, device=options.device)
    with progress_bar(len(asked) - done, "predict", "question") as bar, writing(part), part.open("ab") as file:
        for batch, lines in zip(batches, records, strict=True):
            file.write(lines)
            file.flush()
            bar.update(len(batch))


class Answering:
    """A checkpoint, and the collection if there is one, that answer batches of questions. See `predict` for errors."""

    def __init__(self, options: PredictOptions) -> None:
        from bgr.pipeline import BgrPipeline

        self.pool = options.pool
        self.pipeline = BgrPipeline.from_pretrained(
            options.checkpoint, reader=options.reader, device=options.device, precision=options.precision
        )
        self.collection = (
            None
            if options.collection is None
            else open_collection(options.collection, self.pipeline, verify=options.verify)
        )

    def __call__(self, batch: Sequence[Asked]) -> bytes:
        """The lines of the records of a batch."""
        from bgr.retrievers.base import Query

        queries = [Query(one.question, one.facts) for one in batch if not one.error]
        answers = iter(self.pipeline.answer_all(queries, collection=self.collection, pool=self.pool))
        rows = [_record(one, None if one.error else next(answers)) for one in batch]
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()


def _absolute(options: PredictOptions) -> PredictOptions:
    """The same options for a process in another folder."""
    return replace(
        options,
        checkpoint=options.checkpoint and str(Path(options.checkpoint).absolute()),
        collection=options.collection and options.collection.absolute(),
        reader=options.reader and anywhere(options.reader),
    )


def _record(asked: Asked, answer: Answer | None) -> dict[str, Any]:
    if answer is None:
        return {"id": asked.id, "error": asked.error}
    found = answer.to_json()
    return {"id": asked.id, **{name: found[name] for name in FIELDS}}


def _run_key(options: PredictOptions, folder: Path, corpus: str, given: str) -> str:
    """A hash of all that the records depend on: the checkpoint in its folder, the options, and the hashes of the
    collection and of the questions."""
    files = [path for part in ("", "encoder", *DIRECTIONS, RANKER) for path in (folder / part).glob("*")]
    files += (folder / "reader").rglob("*")
    with writing(folder):
        reader = _reader_hash(options.reader)
        settings = (options.pool, options.reader, options.device, options.precision)
        return hash_texts(__version__, given, _hash_model(folder, files), corpus, reader, *map(str, settings))


def _hash_model(folder: Path, files: Iterable[Path]) -> str:
    """A hash of those of the files that a model is read from."""
    parts = (path for path in files if path.is_file() and path.suffix in (".json", ".safetensors", ".txt"))
    return hash_files(folder, sorted(path.relative_to(folder).as_posix() for path in parts))


def _reader_hash(reader: str | None) -> str:
    """A hash of a reader in a folder, which may be trained anew; any other is known by its name."""
    folder = Path(reader or "")
    return _hash_model(folder, folder.rglob("*")) if reader and folder.is_dir() else ""


def _remove_complete(part: Path, out: Path) -> None:
    """Remove the part of a run that was killed after all of it was written to `out`."""
    with output_locks([out]), writing(part):
        with part.open("rb") as file, out.open("rb") as whole:
            file.readline()
            same = file.read() == whole.read()
        if same:
            part.unlink()


def _resume(part: Path, header: bytes, asked: Sequence[Asked], *, overwrite: bool) -> int:
    """Cut the unfinished file to the whole batches of this run, or begin it. Returns the number of its records."""
    with writing(part):
        part.touch()
        with part.open("r+b") as file:
            first = file.readline()
            ours = first == header
            if first.endswith(b"\n") and not ours and not overwrite and file.read(1):
                raise DataError(
                    f"{part}: left by a run with other questions, options, checkpoint or collection; repeat that run, "
                    "or give --overwrite to begin anew"
                )
            done, end = 0, file.tell()
            for number, line in enumerate(file if ours else (), 1):
                if number > len(asked) or not _is_record(line, asked[number - 1]):
                    break
                if number % BATCH == 0 or number == len(asked):
                    done, end = number, file.tell()
            file.seek(end if ours else 0)
            file.truncate()
            if not ours:
                file.write(header)
            return done


def _is_record(line: bytes, asked: Asked) -> bool:
    """Whether a line is whole, and of this question."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    if not (line.endswith(b"\n") and isinstance(record, dict)):
        return False
    # one with an error has no question
    return record.get("id") == asked.id and record.get("question", asked.question) == asked.question
