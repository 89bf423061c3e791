"""ReasonGraphQA on disk: JSON lines and Arrow by split, the textual database, metadata and a dataset card.

Folder: ``train.jsonl dev.jsonl test.jsonl facts.jsonl dataset.json README.md arrow/`` (a `datasets.DatasetDict`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.card import CARD_FILE, FEATURES, MISSING_FEATURE, card_text
from bgr.data.reasongraphqa.io.statistics import dataset_statistics
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, read_json, write_json, write_lines
from bgr.utils.error_text import did_you_mean_path
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import is_text, parse_json, repr_short

if TYPE_CHECKING:
    from datasets import Features

FACTS_FILE = "facts.jsonl"
METADATA_FILE = "dataset.json"
ARROW_FOLDER = "arrow"
HASHED_FILES = [*(f"{split}.jsonl" for split in SPLITS), FACTS_FILE]
"""The files that the dataset's hash covers; metadata, card and Arrow form are derived."""


def write_dataset(
    folder: str | Path,
    splits: Mapping[str, Iterable[Example]],
    facts: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, Any],
    *,
    measure: Callable[[Path], Mapping[str, Any]] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a dataset; a failure leaves nothing behind.

    Args:
        splits: the examples of train, dev and test.
        facts: the records of the textual database.
        metadata: settings, counts and drops.
        measure: gets the folder with its JSON lines and returns further metadata.

    Returns:
        The metadata with the hash of the files and what was measured, as written.

    Raises:
        DataError: the folder exists and `overwrite` is false.
    """
    with output_folder(folder, overwrite=overwrite) as work:
        examples = {split: list(splits[split]) for split in SPLITS}
        records = {split: [example.to_json() for example in examples[split]] for split in SPLITS}
        for split in SPLITS:
            write_lines(work / f"{split}.jsonl", _json_lines(records[split]))
        write_lines(work / FACTS_FILE, _json_lines(facts))
        full = {**metadata, "sha256": hash_files(work, HASHED_FILES), **(measure(work) if measure else {})}
        write_json(work / METADATA_FILE, full)
        (work / CARD_FILE).write_text(card_text(full, dataset_statistics(examples)), encoding="utf-8")
        _write_arrow(work / ARROW_FOLDER, records)
    return full


def sample_features(*, missing: bool = False) -> Features:
    """The fields of a sample in the Arrow form, with their types; with `missing` if some samples of the dataset have
    it."""
    from datasets import Features, List, Value

    def feature(kind: Any) -> Any:
        if isinstance(kind, list):
            return {field["name"]: feature(field) for field in kind}
        if isinstance(kind, str):
            return Value(kind)
        return List(feature(kind["list"])) if "list" in kind else Value(kind["dtype"])

    return Features(feature([*FEATURES, *([MISSING_FEATURE] if missing else [])]))


def load_split(folder: str | Path, split: str, *, unanswerable: bool = False, progress: bool = False) -> list[Example]:
    """The examples of one split in the order of the file; arguments and errors as of `read_split`.

    Questions without an answer are left out unless `unanswerable`, because their gold graph is empty: most metrics and
    losses are about graphs that are not.

    Raises:
        DataError: also if a file of the dataset was changed after it was written (`check_unchanged`).
    """
    found = read_split(folder, split, progress=progress)
    examples = [example for example in found if unanswerable or example.answerable]
    check_unchanged(folder)  # last: the error of a damaged line says more
    return examples


def recipe_of(folder: str | Path) -> str:
    """The recipe of a dataset with its version, such as ``rivals-2``; empty if ``dataset.json`` does not name one.

    Raises:
        DataError: ``dataset.json`` is damaged, or its recipe is not a text.
    """
    file = Path(folder) / METADATA_FILE
    recipe = load_metadata(folder).get("recipe", "") if file.exists() else ""
    if not is_text(recipe):
        raise DataError(f"{file}: recipe is {repr_short(recipe)}, allowed: a text such as 'rivals-2'")
    return str(recipe)


def read_split(folder: str | Path, split: str, *, progress: bool = False) -> Iterator[Example]:
    """All examples of one split, one by one, in the order of the file; `progress` shows a bar on standard error.

    Raises:
        DataError: unknown split, no such file, an invalid line or a repeated id; the message names file and line.
    """
    return read_lines(split_file(folder, split), parse_sample, unit="samples", progress=progress)


def split_file(folder: str | Path, split: str) -> Path:
    """The JSON lines of a split.

    Raises:
        DataError: unknown split.
    """
    if split not in SPLITS:
        raise DataError(f"unknown split {split!r}, known: {', '.join(SPLITS)}")
    return Path(folder) / f"{split}.jsonl"


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a dataset's file with their numbers from 1; not parsed, so that finding one of many is fast.

    Raises:
        DataError: no such file, or it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: not a regular file")  # reading a pipe may never end
    try:
        with path.open(encoding="utf-8") as file:
            yield from enumerate(file, 1)
    except FileNotFoundError:
        hint = did_you_mean_path(path.parent)
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build){hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_Record = TypeVar("_Record", bound=_Identified)


def read_lines(path: Path, parse: Callable[[str, str], _Record], *, unit: str, progress: bool) -> Iterator[_Record]:
    """The records of a file of the dataset, one by one; `parse` gets each line and its location.

    Raises:
        DataError: no such file, an invalid line or a repeated id; the message names file and line.
    """
    first: dict[str, int] = {}
    lines = numbered_lines(path)
    for number, line in tqdm(lines, desc=path.stem, unit=f" {unit}", disable=not progress, delay=1):
        where = f"{path}: line {number}"
        record = parse(line, where)
        before = first.setdefault(record.id, number)
        if before != number:
            raise DataError(f"{where}: id {repr_short(record.id)} is also in line {before}, allowed: unique ids")
        yield record


def parse_sample(line: str, where: str) -> Example:
    """The sample in a line.

    Raises:
        DataError: the line is not a valid sample; the message begins with `where`.
    """
    record = parse_json(line, where)
    try:
        return Example.from_json(record)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def load_metadata(folder: str | Path) -> dict[str, Any]:
    """The content of ``dataset.json``: source, settings, counts, drops, hash.

    Raises:
        DataError: the file is missing or is not a JSON object.
    """
    metadata = read_json(Path(folder) / METADATA_FILE)
    if not isinstance(metadata, dict):
        raise DataError(f"{Path(folder) / METADATA_FILE}: must be an object")
    return metadata


def dataset_hash(folder: str | Path) -> str:
    """SHA-256 over the dataset's JSON lines in their current state.

    Raises:
        DataError: a file is missing.
    """
    missing = [name for name in HASHED_FILES if not (Path(folder) / name).is_file()]
    if missing:
        raise DataError(f"{folder}: lacks {', '.join(missing)} (a dataset folder comes from bgr data build)")
    return hash_files(folder, HASHED_FILES)


def check_unchanged(folder: str | Path) -> None:
    """Compare the dataset's JSON lines with the hash in ``dataset.json``; without one, or with a file that is missing,
    nothing is compared.

    Raises:
        DataError: a file was changed.
    """
    if not all((Path(folder) / name).is_file() for name in [*HASHED_FILES, METADATA_FILE]):
        return
    expected = load_metadata(folder).get("sha256")
    if expected is not None and expected != (found := dataset_hash(folder)):
        raise DataError(
            f"{folder}: a file was changed after the dataset was written: sha256 is {repr_short(expected)} in "
            f"{METADATA_FILE}, the files have {found!r}; build it again, or write this value there to accept the change"
        )


def _json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (json.dumps(record, ensure_ascii=False) for record in records)


def _write_arrow(folder: Path, records: Mapping[str, list[dict[str, Any]]]) -> None:
    from datasets import Dataset, DatasetDict, disable_progress_bars, enable_progress_bars

    features = sample_features(missing=any("missing" in row for rows in records.values() for row in rows))
    disable_progress_bars()
    try:
        # by columns, because `from_list` gives an empty split no columns, whatever the features
        tables = {
            split: Dataset.from_dict({name: [row.get(name) for row in rows] for name in features}, features=features)
            for split, rows in records.items()
        }
        # with a shard, because an empty split would get no file, and the folder could not be loaded
        DatasetDict(tables).save_to_disk(
            str(folder), num_shards={split: None if rows else 1 for split, rows in records.items()}
        )
    finally:
        enable_progress_bars()
