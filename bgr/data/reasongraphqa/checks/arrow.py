"""Comparison of a dataset's Arrow form with its JSON lines; the dataset's hash does not cover the Arrow form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.data.reasongraphqa.build.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import ARROW_FOLDER, sample_features, sample_lines
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, parse_json, shown


def check_arrow(folder: str | Path, *, progress: bool = False) -> None:
    """Compare the Arrow form with the JSON lines, row by row, then load it as a user would.

    Args:
        folder: a dataset whose JSON lines are valid.
        progress: show a bar on standard error if it takes more than a second.

    Raises:
        DataError: a file is missing or damaged, or a row differs from the sample of its line; the message names it.
    """
    fields = list(sample_features())
    for split in SPLITS:
        split_folder = Path(folder) / ARROW_FOLDER / split
        rows = _rows(split_folder)
        lines = sample_lines(folder, split)
        for where, line in tqdm(lines, desc=f"{split}, Arrow", unit=" samples", disable=not progress, delay=1):
            record, row = parse_json(line, where), next(rows, None)
            if row is None or row != {name: record.get(name) for name in fields}:
                raise DataError(f"{split_folder}: differs from the sample of {where}: one of them was changed")
        if next(rows, None) is not None:
            raise DataError(f"{split_folder}: has more samples than {split}.jsonl")
    _check_loading(Path(folder) / ARROW_FOLDER)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of a split. Each batch is validated, offsets included, because reading a damaged one is unsafe."""
    import pyarrow

    state = read_json(folder / "state.json")
    try:
        names = [entry["filename"] for entry in state["_data_files"]]
    except (KeyError, TypeError):
        raise DataError(f"{folder / 'state.json'}: has no list of data files") from None
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise DataError(f"{folder / 'state.json'}: names {shown(name)}, allowed: a file in the same folder")
        try:
            with pyarrow.memory_map(str(folder / name)) as source, pyarrow.ipc.open_stream(source) as batches:
                for batch in batches:
                    batch.validate(full=True)
                    yield from batch.to_pylist()
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise DataError(f"{folder / name}: cannot be read: {one_line(error)}") from None


def _check_loading(folder: Path) -> None:
    from datasets import load_from_disk

    for path in (folder / "dataset_dict.json", *(folder / split / "dataset_info.json" for split in SPLITS)):
        content = read_json(path)
        if not isinstance(content, dict):
            raise DataError(f"{path}: must be an object, is {shown(content)}")
    try:
        tables = load_from_disk(str(folder))
        found = {split: tables[split].features for split in SPLITS}
    except Exception as error:  # damaged descriptions raise errors of many types
        raise DataError(f"{folder}: datasets cannot load it: {one_line(error)}") from None
    wrong = next((split for split in SPLITS if found[split] != sample_features()), None)
    if wrong:
        raise DataError(f"{folder / wrong}: the fields are not those of a sample")
