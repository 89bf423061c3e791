"""Whether a dataset on disk is what it should be: valid samples over its own facts, fair distractors, its own hash."""

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
from bgr.data.reasongraphqa.io.dataset import SHEET_FILE, dataset_hash, load_sheet, read_split
from bgr.errors import DataError
from bgr.utils.json_utils import shown


@dataclass(frozen=True)
class Verified:
    """A dataset that is whole; `entailments` says whether a distractor gives a gold fact away.

    Args:
        counts: samples by split.
        facts: sentences of the textual database.
        sha256: the hash of the files.
        entailments: see `find_entailments`.
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
    """Read a dataset folder and check all of it, the facts first, then the samples one by one, then the hash.

    Args:
        folder: what `bgr data build` or `bgr data convert` wrote.
        progress: show a bar on standard error.

    Raises:
        ProgramError: a sample's program is malformed.
        DataError: a file is missing or unreadable, a sample is not valid, an id stands twice, a candidate stands twice
            or is not in the textual database, or the files do not have the hash or the numbers that
            ``dataset.json`` tells.
    """
    table = FactTable.read(folder, progress=progress)
    counts: Counter[str] = Counter(dict.fromkeys(SPLITS, 0))
    entailments = find_entailments(_checked(folder, table, counts, progress), table)
    sha256 = _check_hash(folder)
    said = load_sheet(folder).get("counts", dict(counts))
    if said != dict(counts):
        raise DataError(f"{Path(folder) / SHEET_FILE}: counts {shown(said)}, the files hold {dict(counts)}")
    return Verified(dict(counts), len(table), sha256, entailments)


def _checked(folder: str | Path, table: FactTable, counts: Counter[str], progress: bool) -> Iterator[Example]:
    """The samples one after the other, so that the memory holds no more than one; counts them by split."""
    seen: set[str] = set()
    for split in SPLITS:
        for example in read_split(folder, split, progress=progress):
            _check_filled(example)
            _check_program(example)
            _check_candidates(example, table)
            if example.id in seen:
                raise DataError(f"sample {shown(example.id)}: stands twice; ids are unique across {', '.join(SPLITS)}")
            seen.add(example.id)
            counts[split] += 1
            yield example


def _check_filled(example: Example) -> None:
    """What a sample may be in memory, but not in a dataset."""
    for place, text in (("question", example.question), ("answer", example.answer)):
        if not text.strip():
            raise DataError(f"sample {shown(example.id)}: the {place} is empty")
    count = len(example.graph.nodes)
    if not 1 <= count <= MAX_FACTS:
        held = f"{count} facts" if count else "no fact"
        raise DataError(f"sample {shown(example.id)}: the graph holds {held}, allowed: 1 to {MAX_FACTS}")


def _check_program(example: Example) -> None:
    """A program may be unknown; one that is there must be sound, and ask for what the sample's type says."""
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
                f"sample {shown(example.id)}: candidates {first[sentence]} and {number} are one: {shown(sentence)}"
            )
        first[sentence] = number
        table.units(example, number)


def _check_hash(folder: str | Path) -> str:
    said, found = load_sheet(folder).get("sha256"), dataset_hash(folder)
    if said != found:
        raise DataError(f"{Path(folder) / SHEET_FILE}: says sha256 {said}, the files have {found}: one was changed")
    return found
