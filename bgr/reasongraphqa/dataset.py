"""ReasonGraphQA on disk: JSON lines and Arrow by split, the textual database, and a sheet about how it was made.

Folder: ``train.jsonl dev.jsonl test.jsonl facts.jsonl dataset.json arrow/`` (a `datasets.DatasetDict`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.example import Example
from bgr.files import hash_files, output_folder, read_json
from bgr.reasongraphqa.splits import SPLITS

FACTS_FILE = "facts.jsonl"
SHEET_FILE = "dataset.json"
HASHED_FILES = [*(f"{split}.jsonl" for split in SPLITS), FACTS_FILE]


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
        records = {split: [example.to_json() for example in splits[split]] for split in SPLITS}
        for split in SPLITS:
            _write_lines(work / f"{split}.jsonl", records[split])
        _write_lines(work / FACTS_FILE, facts)
        full = {**sheet, "sha256": hash_files(work, HASHED_FILES)}
        text = json.dumps(full, indent=2, ensure_ascii=False)
        (work / SHEET_FILE).write_text(text + "\n", encoding="utf-8")
        _write_arrow(work / "arrow", records)
    return full


def load_split(folder: str | Path, split: str) -> list[Example]:
    """The examples of one split, in the order of the file.

    Raises:
        DataError: unknown split, no such file, or a line that is no example; the message names file and line.
    """
    if split not in SPLITS:
        raise DataError(f"unknown split {split!r}, known: {', '.join(SPLITS)}")
    path = Path(folder) / f"{split}.jsonl"
    examples = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                examples.append(_parse(line, f"{path}: line {number}"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file (a dataset folder comes from bgr data build)") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return examples


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


def _parse(line: str, where: str) -> Example:
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise DataError("a line must hold one object")
        return Example.from_json(record)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not valid JSON: {error.msg}") from None
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_arrow(folder: Path, records: Mapping[str, list[dict[str, Any]]]) -> None:
    from datasets import Dataset, DatasetDict, Features, List, Value, disable_progress_bars, enable_progress_bars

    text = Value("string")
    step = {"function": text, "dependencies": List(Value("int64")), "inputs": List(text)}
    features = Features(
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
    disable_progress_bars()
    try:
        tables = {split: Dataset.from_list(rows, features=features) for split, rows in records.items()}
        DatasetDict(tables).save_to_disk(str(folder))
    finally:
        enable_progress_bars()
