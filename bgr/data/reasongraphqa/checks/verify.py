"""Verification of a dataset on disk: valid samples, candidates from its textual database, fair distractors, hash.

A distractor must not entail a gold fact of its question: it must not state the triple of a gold fact (in either
direction of a relation), nor its value with the same head and key (in any unit), nor state it in a qualifier (see
`conflicts`, which the construction uses too).

The hash does not cover the Arrow form, which is compared with the JSON lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.kb.program import Program
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.construction.conflicts import ENTAILMENTS, GoldFacts
from bgr.data.reasongraphqa.construction.questions import MAX_FACTS, TYPE_OF_FUNCTION
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.data.reasongraphqa.io.dataset import (
    ARROW_FOLDER,
    METADATA_FILE,
    dataset_hash,
    load_metadata,
    numbered_lines,
    read_split,
    sample_features,
    split_file,
)
from bgr.data.reasongraphqa.io.fact_records import read_facts
from bgr.errors import DataError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, parse_json, repr_short

ASKING = ("QueryAttrQualifier", "QueryRelationQualifier")
"""Functions whose last input is the key of the qualifier that the question asks for."""

MAX_EXAMPLES = 3


class FactTable:
    """The units of a textual database by their sentence, and the names of their nodes.

    Facts about entities with the same name may have equal sentences, so that a sentence can have several units.
    """

    def __init__(self, units: Iterable[FactUnit], names: Mapping[str, str]) -> None:
        self.names = names
        self._units: dict[str, tuple[FactUnit, ...]] = {}
        for unit in units:
            self._units[unit.sentence] = (*self._units.get(unit.sentence, ()), unit)

    @classmethod
    def read(cls, folder: str | Path, *, progress: bool = False) -> FactTable:
        """Read a dataset's ``facts.jsonl``; DataError if it is missing or invalid."""
        names: dict[str, str] = {}
        units: list[FactUnit] = []
        for record in read_facts(folder, progress=progress):
            names.update(record.names)
            units.append(FactUnit(record.id, record.facts, record.sentence, record.gold))
        return cls(units, names)

    def __len__(self) -> int:
        return sum(map(len, self._units.values()))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The distinct sentences, in order."""
        return tuple(self._units)

    def units_of(self, sentence: str) -> tuple[FactUnit, ...]:
        """The units of a sentence, none if it is not one of `sentences`."""
        return self._units.get(sentence, ())

    def units(self, example: Example, number: int) -> tuple[FactUnit, ...]:
        """The units of a sample's candidate.

        Raises:
            DataError: the candidate's sentence is not in the textual database.
        """
        found = self._units.get(example.facts[number])
        if found is None:
            raise DataError(
                f"sample {example.id!r}: candidate {number} is not in the textual database: {example.facts[number]!r}"
            )
        return found


@dataclass(frozen=True)
class Entailed:
    """A distractor that entails a gold fact, in the way `how`, one of `conflicts.ENTAILMENTS`."""

    sample: str
    distractor: str
    gold: str
    how: str

    def __str__(self) -> str:
        return f"sample {self.sample!r}: {self.distractor!r} beside the gold fact {self.gold!r} ({self.how})"


@dataclass(frozen=True)
class Entailments:
    """Counts by kind, and the first few examples; `unknown` distractors have no triples and cannot be checked."""

    distractors: int
    unknown: int
    counts: Mapping[str, int]
    examples: tuple[Entailed, ...]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "distractors": self.distractors,
            "unknown": self.unknown,
            "entailing": {"total": self.total, **self.counts},
            "examples": [asdict(example) for example in self.examples],
        }


def find_entailments(examples: Iterable[Example], table: FactTable) -> Entailments:
    """Compare every distractor of every sample with the sample's gold facts.

    Raises:
        DataError: a candidate is not in the textual database; the message names the sample.
    """
    counts = dict.fromkeys(ENTAILMENTS, 0)
    distractors = unknown = 0
    found: list[Entailed] = []
    for example in examples:
        gold = set(example.graph.nodes)
        content = gold_facts(example, example.graph.nodes, table)
        for number in (number for number in range(len(example.facts)) if number not in gold):
            units = table.units(example, number)
            distractors += 1
            unknown += not any(unit.facts for unit in units)
            unit, how = next(((unit, how) for unit in units if (how := content.entailment(unit))), (None, None))
            if unit is None or how is None:
                continue
            counts[how] += 1
            if len(found) < MAX_EXAMPLES:
                entailed = next(n for n in example.graph.nodes if gold_facts(example, [n], table).entailment(unit))
                found.append(Entailed(example.id, unit.sentence, example.facts[entailed], how))
    return Entailments(distractors, unknown, counts, tuple(found))


def gold_facts(example: Example, nodes: Iterable[int], table: FactTable) -> GoldFacts:
    """Some of the gold facts of a sample, with the qualifier that the question asks for, if it asks for one.

    That is the qualifier of the program's last step, for the last facts. A qualifier that the program only filters by
    does not count, because the files do not say which facts it is from.
    """
    last = example.program[-1] if example.program else {}
    asked = last["inputs"][-1] if last.get("function") in ASKING and last.get("inputs") else None
    facts: list[Fact] = []
    units: list[FactUnit] = []
    for node in nodes:
        key = asked if node in example.graph.leaves else None
        found = table.units(example, node)
        units += found
        for fact in (unit.facts[0] for unit in found if unit.facts):
            facts.append(replace(fact, qualifiers=tuple(pair for pair in fact.qualifiers if pair[0] == key)))
    return GoldFacts(table.names.__getitem__, facts, units)


@dataclass(frozen=True)
class Verified:
    """Result for a valid dataset: its samples by split, the sentences of its textual database, and its hash."""

    counts: Mapping[str, int]
    facts: int
    sha256: str
    entailments: Entailments

    def to_json(self) -> dict[str, Any]:
        counts, entailment = dict(self.counts), self.entailments.to_json()
        return {"counts": counts, "facts": self.facts, "sha256": self.sha256, "entailment": entailment}


def verify_dataset(folder: str | Path, *, progress: bool = False) -> Verified:
    """Read and check a dataset folder: the facts, then the samples one by one, then the hash.

    Raises:
        ProgramError: a sample's program is malformed.
        DataError: a file is missing or unreadable, a sample is invalid, an id is repeated, a candidate is repeated or
            not in the textual database, or the files do not have the hash or the counts of ``dataset.json``.
    """
    table = FactTable.read(folder, progress=progress)
    counts = dict.fromkeys(SPLITS, 0)
    entailments = find_entailments(_checked(folder, table, counts, progress, answers=_answers_known(folder)), table)
    metadata, path = load_metadata(folder), Path(folder) / METADATA_FILE
    sha256 = dataset_hash(folder)
    if metadata.get("sha256") != sha256:
        raise DataError(f"{path}: sha256 is {metadata.get('sha256')}, the files have {sha256}: one was changed")
    if metadata.get("counts", counts) != counts:
        raise DataError(f"{path}: counts {repr_short(metadata['counts'])}, the files have {counts}")
    return Verified(counts, len(table), sha256, entailments)


def _checked(
    folder: str | Path, table: FactTable, counts: dict[str, int], progress: bool, *, answers: bool
) -> Iterator[Example]:
    """The checked samples, one by one to save memory; counts them by split."""
    seen: set[str] = set()
    for split in SPLITS:
        for example in read_split(folder, split, progress=progress):
            problem = _problem(example, answers=answers)
            if example.id in seen:
                problem = "the id is repeated, allowed: unique in all splits"
            if problem:
                raise DataError(f"sample {repr_short(example.id)}: {problem}")
            for number in range(len(example.facts)):
                table.units(example, number)
            seen.add(example.id)
            counts[split] += 1
            yield example


def _answers_known(folder: str | Path) -> bool:
    """Whether all questions with evidence have an answer; those of own data may lack one (`bgr data import`)."""
    path = Path(folder) / METADATA_FILE
    return not (path.exists() and load_metadata(folder).get("without_answer"))


def _problem(example: Example, *, answers: bool) -> str | None:
    """A problem of a sample that is allowed in memory but not in a dataset. A program may be missing, and the answer
    too unless the data have all `answers`."""
    count, answer = len(example.graph.nodes), example.answer.strip()
    if not example.question.strip() or (answers and count and not answer):
        return f"the {'answer' if example.question.strip() else 'question'} is empty"
    if count > MAX_FACTS or (answer and not count):
        return f"the graph has {count} facts, allowed: 1 to {MAX_FACTS}, or none without an answer"
    if example.program:
        program = Program.from_json(example.program, f"sample {repr_short(example.id)}")
        asked = TYPE_OF_FUNCTION[program.steps[-1].function]
        if example.type != asked:
            return f"type is {example.type}, but its program is of type {asked}"
    first: dict[str, int] = {}
    for number, sentence in enumerate(example.facts):
        if first.setdefault(sentence, number) != number:
            return f"candidates {first[sentence]} and {number} are equal: {repr_short(sentence)}"
    return None


def check_arrow(folder: str | Path, *, progress: bool = False) -> None:
    """Compare the Arrow form with the JSON lines, which must be valid, row by row, then load it as a user would.

    Raises:
        DataError: a file is missing or damaged, or a row differs from the sample of its line; the message names it.
    """
    fields = list(sample_features())
    for split in SPLITS:
        split_folder = Path(folder) / ARROW_FOLDER / split
        rows, path = _rows(split_folder), split_file(folder, split)
        lines = tqdm(numbered_lines(path), desc=f"{split}, Arrow", unit=" samples", disable=not progress, delay=1)
        for number, line in lines:
            where = f"{path}: line {number}"
            record, row = parse_json(line, where), next(rows, None)
            optional = {"missing"} & {*record, *(row or {})}
            if row is None or row != {name: record.get(name) for name in (*fields, *optional)}:
                raise DataError(f"{split_folder}: differs from the sample of {where}: one of them was changed")
        if next(rows, None) is not None:
            raise DataError(f"{split_folder}: has more samples than {path.name}")
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
            raise DataError(f"{folder / 'state.json'}: names {repr_short(name)}, allowed: a file in the same folder")
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
            raise DataError(f"{path}: must be an object, is {repr_short(content)}")
    try:
        tables = load_from_disk(str(folder))
        found = {split: tables[split].features for split in SPLITS}
    except Exception:  # damaged descriptions raise errors of many types, which do not tell what is wrong
        raise DataError(
            f"{folder}: datasets cannot load it: a description is damaged; build the dataset again"
        ) from None
    missing = any("missing" in features for features in found.values())
    wrong = next((split for split in SPLITS if found[split] != sample_features(missing=missing)), None)
    if wrong:
        raise DataError(f"{folder / wrong}: the fields are not those of a sample")
