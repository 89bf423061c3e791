"""A dataset without the dev and test questions that another one trains on.

A retriever that starts from a checkpoint (``bgr train retriever --init``) has seen the training questions of both
datasets. Only questions of neither can tell what it has learned.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.options import UnseenOptions
from bgr.data.reasongraphqa.checks.leakage import program_form
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import (
    FACTS_FILE,
    METADATA_FILE,
    check_unchanged,
    load_metadata,
    numbered_lines,
    read_split,
    write_dataset,
)
from bgr.errors import DataError

COUNTED = ("sha256", "shortcuts", "distractors", "shared_with_earlier_splits")
"""Entries of ``dataset.json`` that describe all questions of a dataset and cannot be computed for a part of them."""


@dataclass(frozen=True)
class Unseen:
    """Numbers of questions that are left and were left out, by split."""

    left: dict[str, int]
    out: dict[str, int]


def write_unseen(options: UnseenOptions) -> Unseen:
    """Write the dataset without the dev and test questions whose text or program (`program_form`) is that of a training
    question of the other dataset. The training split stays.

    Raises:
        DataError: a dataset is damaged, no dev or no test question is left, or the folder exists.
    """
    seen = {key for example in read_split(options.trained, "train", progress=True) for key in _keys(example)}
    splits = {split: list(read_split(options.data, split, progress=True)) for split in SPLITS}
    for folder in (options.trained, options.data):
        check_unchanged(folder)
    kept = {"train": splits["train"]}
    for split in SPLITS[1:]:
        kept[split] = [example for example in splits[split] if not seen & _keys(example)]
        if not kept[split]:
            raise DataError(f"{options.data}: {options.trained} trains on every question of {split}")
    left = {split: len(examples) for split, examples in kept.items()}
    known = load_metadata(options.data) if (options.data / METADATA_FILE).is_file() else {}
    about = {name: value for name, value in known.items() if name not in COUNTED}
    about |= {name: value for name, value in _counts(kept).items() if name in known or name == "unanswerable"}
    if isinstance(inferred := known.get("inferred_graphs"), dict):  # which questions have one is not told
        about["inferred_graphs"] = {split: min(count, left[split]) for split, count in inferred.items()}
    metadata = {**about, "counts": left, "unseen_by": dataset_name(options.trained)}
    facts = (json.loads(line) for _, line in numbered_lines(options.data / FACTS_FILE))
    write_dataset(options.out, kept, facts, metadata, overwrite=options.overwrite)
    return Unseen(left, {split: len(splits[split]) - left[split] for split in SPLITS})


def _counts(splits: dict[str, list[Example]]) -> dict[str, Any]:
    """The counts of ``dataset.json`` that can be taken from the questions."""
    examples = [one for part in splits.values() for one in part]
    return {
        "unanswerable": unanswerable(splits),
        "not_answerable": {split: sum(not one.answerable for one in part) for split, part in splits.items()},
        "without_answer": sum(one.answer_unknown for one in examples),
    }


def unanswerable(splits: dict[str, list[Example]]) -> int:
    """The number of questions without an answer."""
    return sum(not example.answerable for examples in splits.values() for example in examples)


def dataset_name(folder: Path) -> str:
    """The hash of a dataset, which is the same wherever it lies; without one the name of its folder."""
    found = load_metadata(folder).get("sha256") if (folder / METADATA_FILE).is_file() else None
    return found if isinstance(found, str) else folder.name


def _keys(example: Example) -> set[str]:
    """What makes two questions the same: the words, or the program."""
    words = " ".join(example.question.lower().split())
    return {words, program_form(example.program, example.id)} if example.program else {words}
