"""ReasonGraphQA on disk: JSON lines and Arrow by split, the textual database, a sheet and a card about how it was made.

Folder: ``train.jsonl dev.jsonl test.jsonl facts.jsonl dataset.json README.md arrow/`` (a `datasets.DatasetDict`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.reasongraphqa.build.splits import SPLITS
from bgr.data.reasongraphqa.io.card import CARD_FILE, card_text
from bgr.data.reasongraphqa.io.record import example_of
from bgr.data.reasongraphqa.io.statistics import dataset_statistics
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, read_json
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import parse_json, shown

if TYPE_CHECKING:
    from datasets import Features

FACTS_FILE = "facts.jsonl"
SHEET_FILE = "dataset.json"
ARROW_FOLDER = "arrow"
HASHED_FILES = [*(f"{split}.jsonl" for split in SPLITS), FACTS_FILE]
"""What makes the dataset; the sheet, the card and the Arrow form are derived."""


def write_dataset(
    folder: str | Path,
    splits: Mapping[str, Iterable[Example]],
    facts: Iterable[Mapping[str, Any]],
    sheet: Mapping[str, Any],
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a dataset; nothing is left behind if that fails.

    Args:
        folder: where to.
        splits: the examples of train, dev and test.
        facts: the records of the textual database.
        sheet: settings, counts and drops; the hash is added to it.
        overwrite: replace a folder that is there.

    Returns:
        The sheet as written.

    Raises:
        DataError: the folder exists and `overwrite` is false.
    """
    with output_folder(folder, overwrite=overwrite) as work:
        examples = {split: list(splits[split]) for split in SPLITS}
        records = {split: [example.to_json() for example in examples[split]] for split in SPLITS}
        for split in SPLITS:
            _write_lines(work / f"{split}.jsonl", records[split])
        _write_lines(work / FACTS_FILE, facts)
        full = {**sheet, "sha256": hash_files(work, HASHED_FILES)}
        text = json.dumps(full, indent=2, ensure_ascii=False)
        (work / SHEET_FILE).write_text(text + "\n", encoding="utf-8")
        (work / CARD_FILE).write_text(card_text(full, dataset_statistics(examples)), encoding="utf-8")
        _write_arrow(work / ARROW_FOLDER, records)
    return full


def sample_features() -> Features:
    """The fields of a sample in the Arrow form, each with its type."""
    from datasets import Features, List, Value

    text = Value("string")
    step = {"function": text, "dependencies": List(Value("int64")), "inputs": List(text)}
    return Features(
        {
            "id": text,
            "question": text,
            "facts": List(text),
            "edges": List(List(Value("int64"))),
            "answer": text,
            "program": List(step),
            "type": text,
            "structure": text,
        }
    )


def load_split(folder: str | Path, split: str, *, progress: bool = False) -> list[Example]:
    """The examples of one split, in the order of the file. Arguments and errors: see `read_split`."""
    return list(read_split(folder, split, progress=progress))


def read_split(folder: str | Path, split: str, *, progress: bool = False) -> Iterator[Example]:
    """The examples of one split, one after the other, in the order of the file.

    Args:
        folder: what `bgr data build` or `bgr data convert` wrote.
        split: one of `SPLITS`.
        progress: show a bar on standard error, if it takes more than a moment.

    Raises:
        DataError: unknown split, no such file, a line that is no sample or an id that is met again; the message names
            file and line.
    """
    first: dict[str, str] = {}
    with tqdm(desc=split, unit=" samples", disable=not progress, delay=1) as bar:
        for where, line in sample_lines(folder, split):
            example = parse_sample(line, where)
            if first.setdefault(example.id, where) != where:
                raise DataError(
                    f"{where}: id {shown(example.id)} stands in {first[example.id]} already, ids are unique"
                )
            yield example
            bar.update()


def sample_lines(folder: str | Path, split: str) -> Iterator[tuple[str, str]]:
    """Each line of a split's file, with what messages call it; nothing is parsed, so that one of many is found fast.

    Raises:
        DataError: unknown split, or no such file.
    """
    if split not in SPLITS:
        raise DataError(f"unknown split {split!r}, known: {', '.join(SPLITS)}")
    path = Path(folder) / f"{split}.jsonl"
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield f"{path}: line {number}", line
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def parse_sample(line: str, where: str) -> Example:
    """The sample that a line holds.

    Raises:
        DataError: the line is no sample; the message begins with `where`.
    """
    record = parse_json(line, where)
    try:
        return example_of(record)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def load_sheet(folder: str | Path) -> dict[str, Any]:
    """What ``dataset.json`` says: source, settings, counts, drops, hash.

    Raises:
        DataError: the file is missing or is not a JSON object.
    """
    sheet = read_json(Path(folder) / SHEET_FILE)
    if not isinstance(sheet, dict):
        raise DataError(f"{Path(folder) / SHEET_FILE}: must hold an object")
    return sheet


def dataset_hash(folder: str | Path) -> str:
    """SHA-256 over the dataset's JSON lines as they are now.

    Raises:
        DataError: a file is missing.
    """
    missing = [name for name in HASHED_FILES if not (Path(folder) / name).is_file()]
    if missing:
        raise DataError(f"{folder}: lacks {', '.join(missing)} (a dataset folder comes from bgr data build)")
    return hash_files(folder, HASHED_FILES)


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_arrow(folder: Path, records: Mapping[str, list[dict[str, Any]]]) -> None:
    from datasets import Dataset, DatasetDict, disable_progress_bars, enable_progress_bars

    features = sample_features()
    disable_progress_bars()
    try:
        # by columns: `from_list` gives an empty split no columns at all, whatever the features
        tables = {
            split: Dataset.from_dict({name: [row[name] for row in rows] for name in features}, features=features)
            for split, rows in records.items()
        }
        # an empty split would get no file, and the folder could not be loaded again
        DatasetDict(tables).save_to_disk(
            str(folder), num_shards={split: None if rows else 1 for split, rows in records.items()}
        )
    finally:
        enable_progress_bars()
