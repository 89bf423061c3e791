"""Verification of a dataset on disk: valid samples, candidates from its textual database, fair distractors, hash.

The hash does not cover the Arrow form, which is compared with the JSON lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.checks.entailment import Entailments, FactTable, find_entailments
from bgr.data.reasongraphqa.construction.grounding import MAX_FACTS, TYPE_OF_FUNCTION
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import (
    ARROW_FOLDER,
    METADATA_FILE,
    dataset_hash,
    load_metadata,
    read_split,
    sample_features,
    sample_lines,
)
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, parse_json, shown


@dataclass(frozen=True)
class Verified:
    """Result for a valid dataset.

    Args:
        counts: number of samples by split.
        facts: number of sentences in the textual database.
        sha256: hash of the files.
        entailments: distractors that entail a gold fact, see `find_entailments`.
    """

    counts: Mapping[str, int]
    facts: int
    sha256: str
    entailments: Entailments

    def to_json(self) -> dict[str, Any]:
        return {
            "counts": dict(self.counts),
            "facts": self.facts,
            "sha256": self.sha256,
            "entailment": self.entailments.to_json(),
        }


def verify_dataset(folder: str | Path, *, progress: bool = False) -> Verified:
    """Read and check a dataset folder: the facts, then the samples one by one, then the hash.

    Args:
        folder: folder written by `bgr data build` or `bgr data convert`.
        progress: show a bar on standard error.

    Raises:
        ProgramError: a sample's program is malformed.
        DataError: a file is missing or unreadable, a sample is invalid, an id is repeated, a candidate is repeated or
            not in the textual database, or the files do not have the hash or the counts of ``dataset.json``.
    """
    table = FactTable.read(folder, progress=progress)
    counts: Counter[str] = Counter(dict.fromkeys(SPLITS, 0))
    entailments = find_entailments(_checked(folder, table, counts, progress), table)
    sha256 = _check_hash(folder)
    stated = load_metadata(folder).get("counts", dict(counts))
    if stated != dict(counts):
        raise DataError(f"{Path(folder) / METADATA_FILE}: counts {shown(stated)}, the files have {dict(counts)}")
    return Verified(dict(counts), len(table), sha256, entailments)


def _checked(folder: str | Path, table: FactTable, counts: Counter[str], progress: bool) -> Iterator[Example]:
    """The checked samples, one by one to save memory; counts them by split."""
    seen: set[str] = set()
    for split in SPLITS:
        for example in read_split(folder, split, progress=progress):
            _check_filled(example)
            _check_program(example)
            _check_candidates(example, table)
            if example.id in seen:
                raise DataError(f"sample {shown(example.id)}: the id is repeated, allowed: unique in all splits")
            seen.add(example.id)
            counts[split] += 1
            yield example


def _check_filled(example: Example) -> None:
    """Check for parts that are empty, or too many facts, which is allowed in memory but not in a dataset."""
    for name, text in (("question", example.question), ("answer", example.answer)):
        if not text.strip():
            raise DataError(f"sample {shown(example.id)}: the {name} is empty")
    count = len(example.graph.nodes)
    if not 1 <= count <= MAX_FACTS:
        raise DataError(f"sample {shown(example.id)}: the graph has {count} facts, allowed: 1 to {MAX_FACTS}")


def _check_program(example: Example) -> None:
    """Check a program, which may be missing: it must be valid and of the sample's type."""
    if example.program:
        program = Program.from_json(example.program, f"sample {shown(example.id)}")
        asked = TYPE_OF_FUNCTION[program.steps[-1].function]
        if example.type != asked:
            raise DataError(f"sample {shown(example.id)}: type is {example.type}, but its program is of type {asked}")


def _check_candidates(example: Example, table: FactTable) -> None:
    first: dict[str, int] = {}
    for number, sentence in enumerate(example.facts):
        if sentence in first:
            raise DataError(
                f"sample {shown(example.id)}: candidates {first[sentence]} and {number} are equal: {shown(sentence)}"
            )
        first[sentence] = number
        table.units(example, number)


def _check_hash(folder: str | Path) -> str:
    stated, found = load_metadata(folder).get("sha256"), dataset_hash(folder)
    if stated != found:
        raise DataError(f"{Path(folder) / METADATA_FILE}: sha256 is {stated}, the files have {found}: one was changed")
    return found


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
