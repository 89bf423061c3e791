"""Verification of a dataset on disk: valid samples, candidates from its textual database, fair distractors, hash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.build.grounding import MAX_FACTS, TYPE_OF_FUNCTION
from bgr.data.reasongraphqa.build.splits import SPLITS
from bgr.data.reasongraphqa.checks.entailment import Entailments, FactTable, find_entailments
from bgr.data.reasongraphqa.io.dataset import METADATA_FILE, dataset_hash, load_metadata, read_split
from bgr.errors import DataError
from bgr.utils.json_utils import shown


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
