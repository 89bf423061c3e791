"""Leakage between the splits of a dataset: shared questions, sets of gold triples and programs.

For each two splits, the report has the number of samples of the later one (in the order train, dev, test) that share
one of these with some sample of the earlier one:

- ``question``: the question's text, ignoring case and extra whitespace;
- ``triples``: the set of gold triples (head, predicate, tail or value), each the first of its sentence's unit in
  ``facts.jsonl``; qualifiers and joined triples are ignored;
- ``program``: the program with its entities and values, up to the order of independent branches (`program_form`).

A retriever that starts from a checkpoint (``bgr train retriever --init``) has seen the training questions of two
datasets. Only questions of neither can tell what it has learned: `write_unseen` leaves out the others.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.program import Program
from bgr.data.options import UnseenOptions
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
from bgr.data.reasongraphqa.io.fact_records import read_facts
from bgr.errors import DataError
from bgr.utils.hashing import hash_text

COMMUTATIVE = ("And", "Or", "SelectBetween")
"""Functions whose two branches may be swapped; those about a relation are directed."""

COUNTED = ("sha256", "shortcuts", "distractors", "shared_with_earlier_splits")
"""Entries of ``dataset.json`` that describe all questions of a dataset and cannot be computed for a part of them."""


def program_form(records: Sequence[Mapping[str, Any]], where: str = "program") -> str:
    """A hash that is equal for two programs if and only if their answers come from the same steps.

    A step is its function, its inputs (entities, values and predicates as written, with normalized whitespace) and the
    steps it depends on, whatever their numbers; steps that the last one does not need are ignored.

    Raises:
        ProgramError: the program is malformed; the message names `where` and the step.
    """
    forms: list[str] = []
    for step in Program.from_json(records, where).steps:
        before = [forms[number] for number in step.dependencies]
        if step.function in COMMUTATIVE:
            before.sort()
        # hashed step by step, because in a nested text a shared step would be repeated
        text = json.dumps([step.function, step.inputs, before], ensure_ascii=True)
        forms.append(hash_text(text))
    return forms[-1]


def read_gold_triples(folder: str | Path, *, progress: bool = False) -> dict[str, set[Hashable]] | None:
    """The triple of each gold sentence: the first of its unit, without those joined to it.

    If entities with the same name share a sentence, it has the triples of all.

    Returns:
        Sentence to triples, or ``None`` if no line has any (a converted released dataset).

    Raises:
        DataError: no such file, an invalid line, or triples in some lines and none in others.
    """
    found: dict[str, set[Hashable]] = {}
    bare, full = 0, 0  # the first line without and with triples
    for number, record in enumerate(read_facts(folder, progress=progress), 1):
        if record.facts:
            full = full or number
            if record.gold:
                found.setdefault(record.sentence, set()).add(record.facts[0].statement)
        else:
            bare = bare or number
        if bare and full:
            raise DataError(f"{Path(folder) / FACTS_FILE}: line {bare}: field 'facts' is empty, but not in line {full}")
    return None if bare else found


CHECKS = {"question": "question text", "triples": "gold triple set", "program": "program and entities"}
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Shared:
    """`count` of `of` samples of the later split are shared with the earlier one.

    `of` does not count samples without a value to compare (no program, no gold fact). `examples` are up to three pairs
    of ids: a sample of the later split and the first equal one of the earlier split.
    """

    count: int
    of: int
    examples: tuple[tuple[str, str], ...]

    @property
    def share(self) -> float:
        """The fraction of shared samples, 0 to 1; 0 if no samples could be compared."""
        return self.count / self.of if self.of else 0.0

    def to_json(self) -> dict[str, Any]:
        examples = [{"later": later, "earlier": earlier} for later, earlier in self.examples]
        return {"count": self.count, "of": self.of, "share": self.share, "examples": examples}


@dataclass(frozen=True)
class Leakage:
    """The number of samples by split, what each pair (earlier split, later split) shares by each of `CHECKS` that was
    possible, and the limitations of the comparison with their reasons.
    """

    samples: dict[str, int]
    shared: dict[tuple[str, str], dict[str, Shared]]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as JSON; checks that were not possible are ``null``."""
        pairs = [
            {"earlier": a, "later": b, **{name: found[name].to_json() if name in found else None for name in CHECKS}}
            for (a, b), found in self.shared.items()
        ]
        return {"samples": self.samples, "pairs": pairs, "notes": list(self.notes)}


@dataclass(frozen=True)
class Trace:
    """The compared properties of a sample. `triples` and `program` are ``None`` if there are none."""

    id: str
    question: str
    triples: Hashable | None
    program: Hashable | None


def compare_splits(splits: Mapping[str, Sequence[Trace]], checks: Sequence[str], notes: Sequence[str] = ()) -> Leakage:
    """Compare each two splits, earlier first, in the order given."""
    shared = {
        (a, b): {check: _shared(splits[a], splits[b], check) for check in checks} for a, b in combinations(splits, 2)
    }
    return Leakage({name: len(traces) for name, traces in splits.items()}, shared, tuple(notes))


def dataset_leakage(folder: str | Path, *, progress: bool = False) -> Leakage:
    """Compare the splits of a dataset folder.

    A dataset converted from the authors' released files has no triples in ``facts.jsonl``; ``triples`` is then left
    out, with a note.

    Raises:
        DataError: a file is missing, malformed or was changed, or ``facts.jsonl`` lacks a gold sentence.
        ProgramError: a sample's program is malformed; the message names file, sample and step.
    """
    triples = read_gold_triples(folder, progress=progress)
    splits: dict[str, list[Trace]] = {split: [] for split in SPLITS}
    several: set[str] = set()
    for split, traces in splits.items():
        for example in read_split(folder, split, progress=progress):
            traces.append(_trace(example, triples, f"{Path(folder) / split}.jsonl: sample {example.id!r}"))
            gold = (example.facts[node] for node in example.graph.nodes)
            several.update(sentence for sentence in gold if triples is not None and len(triples[sentence]) > 1)
    check_unchanged(folder)
    notes = []
    if without := sum(trace.program is None for part in splits.values() for trace in part):
        notes.append(f"samples without a program, which are not compared by program: {without:,}")
    if triples is None:
        notes.append(f"gold triple sets are not compared: {FACTS_FILE} has no triples (a converted released dataset)")
    elif several:
        notes.append(f"gold sentences with several triples (equal names), compared by all of them: {len(several):,}")
    return compare_splits(splits, [check for check in CHECKS if check != "triples" or triples is not None], notes)


def _trace(example: Example, triples: Mapping[str, set[Hashable]] | None, where: str) -> Trace:
    found: set[Hashable] = set()
    if triples is not None:
        for sentence in (example.facts[node] for node in example.graph.nodes):
            if sentence not in triples:
                raise DataError(f"{where}: gold sentence {sentence!r} is not in {FACTS_FILE}")
            found |= triples[sentence]
    program = program_form(example.program, where) if example.program else None
    return Trace(example.id, " ".join(example.question.casefold().split()), frozenset(found) or None, program)


def leakage_text(report: Leakage) -> str:
    """A table with a row for each two splits, followed by examples and notes."""
    rows = [["the later split shares", *CHECKS.values()]]
    examples = []
    for (a, b), found in report.shared.items():
        rows.append([f"{b} with {a}", *(_cell(found.get(check)) for check in CHECKS)])
        for check, shared in found.items():
            pairs = ", ".join(f"{later} = {earlier}" for later, earlier in shared.examples)
            examples += [f"{b} with {a}, {CHECKS[check]}: {pairs}"] if pairs else []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    counts = "samples: " + ", ".join(f"{count:,} {name}" for name, count in report.samples.items())
    return "\n".join([counts, *table, *examples, *(f"note: {note}" for note in report.notes)])


def _shared(earlier: Sequence[Trace], later: Sequence[Trace], check: str) -> Shared:
    first: dict[Hashable, str] = {}
    for trace in earlier:
        first.setdefault(getattr(trace, check), trace.id)
    compared = [trace for trace in later if getattr(trace, check) is not None]
    equal = [(trace.id, first[getattr(trace, check)]) for trace in compared if getattr(trace, check) in first]
    return Shared(len(equal), len(compared), tuple(equal[:MAX_EXAMPLES]))


def _cell(shared: Shared | None) -> str:
    return f"{shared.count:,} of {shared.of:,} ({shared.share:.1%})" if shared is not None else "not compared"


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
