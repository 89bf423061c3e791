"""`bgr data import`: questions of one's own as a dataset for training and evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bgr.collection.collection import Collection
from bgr.data.example import Example
from bgr.data.options import ImportOptions
from bgr.data.own.candidates import Candidates, withheld
from bgr.data.own.label import Labelled, Labels, Teacher, label_questions
from bgr.data.own.schema import LEVELS, OwnQuestion, question_key, read_questions
from bgr.data.own.splits import assign_splits, grouped, shared_between
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import write_dataset
from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import is_empty

LONG = 45
"""Words of a fact that is likely to be longer than the 64 tokens that the shipped configs read."""

FEW = {"train": 100, "dev": 20, "test": 20}
"""Fewer questions than these in a split are pointed out: they teach little, or their scores say little."""

RULES = {
    "links": "evidence without edges becomes a tree: from the question on, the heaviest link of shared words, where a "
    "name counts fully, another word a quarter, and each by how rare it is; of equal links the one from the deepest "
    "fact; a single fact that holds the answer is linked last, from another fact if they share a word, and nothing "
    "follows it",
    "chains": "evidence of an answer alone is the chain of one to three facts, joined by names, that ends in a fact "
    "with the answer and has most words of the question",
    "teacher": "evidence of an answer alone is the graph of a checkpoint, if its answer is right and its directions "
    "agree",
}


@dataclass(frozen=True)
class Imported:
    """The folder that was written, its metadata, and what deserves a look."""

    folder: Path
    metadata: Mapping[str, Any]
    notes: tuple[str, ...]


def import_data(options: ImportOptions, *, teacher: Teacher | None = None, progress: bool = True) -> Imported:
    """Read questions, give each a graph, candidates and a split, and write a dataset; a failure leaves nothing behind.

    Args:
        teacher: finds the evidence of questions that have an answer alone (`bgr.teacher`).

    Raises:
        BgrError: a line or a file is not valid, no graph was found, a split is empty, or the folder exists.
    """
    if options.out.exists() and not options.overwrite and not is_empty(options.out):
        raise DataError(f"{options.out}: exists already; give --overwrite to replace it")
    collection = None if options.collection is None else Collection.open(options.collection, encoder=None)
    if collection is not None and not len(collection):
        raise DataError(f"{options.collection}: the collection has no texts; add some first: `bgr collection add`")
    read = list(read_questions(options.files, None if collection is None else collection.corpus))
    questions = _distinct(read)
    candidates = None
    if collection is not None:
        candidates = Candidates(collection.corpus, collection.bm25, options.seed)

    def pool_of(one: OwnQuestion) -> tuple[str, ...]:
        return candidates.pool(one.question, one.answer) if candidates is not None and one.is_open else one.facts

    labels = label_questions(questions, pool_of, teacher=teacher, agreement=options.agreement, progress=progress)
    if not labels.how:
        raise BgrError(f"{_names(options)}: no question has an evidence graph: {_reasons(labels)}")
    found = [_with_candidates(one, candidates, options.candidates) for one in labels.found]
    examples = [_example(one, options.seed) for one in found]
    splits = _splits(found, examples, options, labels)
    ids = {one.id for one in examples}
    for part in splits.values():
        part += withheld(part, options.withhold, options.seed, ids)
    metadata = _metadata(options, read, questions, labels, splits)
    sentences = dict.fromkeys(fact for part in splits.values() for one in part for fact in one.facts)
    gold = {one.facts[node] for part in splits.values() for one in part for node in one.graph.nodes}
    facts = [{"id": f"F{n:06d}", "sentence": text, "gold": text in gold} for n, text in enumerate(sentences)]
    written = write_dataset(options.out, splits, facts, metadata, overwrite=options.overwrite)
    return Imported(options.out, written, tuple(_notes(splits, sentences, written)))


def _names(options: ImportOptions) -> str:
    return ", ".join(map(str, options.files))


def _distinct(questions: Sequence[OwnQuestion]) -> list[OwnQuestion]:
    """The questions without those that repeat the question, the facts and the answer of an earlier one."""
    first: dict[tuple[str, frozenset[str], str], OwnQuestion] = {}
    for one in questions:
        first.setdefault((question_key(one.question), frozenset(one.facts), one.answer), one)
    return list(first.values())


def _reasons(labels: Labels) -> str:
    return ", ".join(f"{len(ids):,} ({why})" for why, ids in labels.dropped.items())


def _with_candidates(one: Labelled, candidates: Candidates | None, count: int) -> Labelled:
    bare = one.question.is_open or len(one.graph.nodes) == len(one.facts)
    return candidates.filled(one, count) if candidates is not None and bare else one


def _example(one: Labelled, seed: int) -> Example:
    """The sample, with its candidates in random order: in the file the evidence may come first."""
    own, order = one.question, list(range(len(one.facts)))
    Random(f"{seed}|order|{own.id}").shuffle(order)
    graph = one.graph.relabel({number: place for place, number in enumerate(order)})
    return Example(own.id, own.question, tuple(one.facts[n] for n in order), graph, own.answer, (), own.type)


def _splits(
    found: Sequence[Labelled], examples: Sequence[Example], options: ImportOptions, labels: Labels
) -> dict[str, list[Example]]:
    keys: list[set[tuple[str, str]]] = []
    for one in examples:
        own = {("question", question_key(one.question))}
        if options.hold_out == "facts":
            own |= {("fact", one.facts[node]) for node in one.graph.nodes}
        keys.append(own)
    try:
        names = assign_splits(grouped(keys), [one.question.split for one in found], options.shares, options.seed)
    except ValueError as error:
        raise BgrError(f"--shares: {error}") from None
    splits: dict[str, list[Example]] = {split: [] for split in SPLITS}
    for example, name in zip(examples, names, strict=True):
        splits[name].append(example)
    for split in SPLITS[:2]:  # a training needs both
        if not any(one.answerable for one in splits[split]):
            counts = ", ".join(f"{len(part):,} {name}" for name, part in splits.items())
            left_out = f"; left out: {_reasons(labels)}" if labels.dropped else ""
            raise BgrError(
                f"{_names(options)}: {split} has no question with evidence ({counts}{left_out}); give more questions, "
                "other --shares, or the field split"
            )
    return splits


def _metadata(
    options: ImportOptions,
    read: Sequence[OwnQuestion],
    questions: Sequence[OwnQuestion],
    labels: Labels,
    splits: Mapping[str, list[Example]],
) -> dict[str, Any]:
    levels = Counter(one.level for one in read)
    examples = [one for part in splits.values() for one in part]
    inferred = {one.question.id for one in labels.found if one.inferred}
    return {
        "name": options.name,
        "source": "own data",
        "files": [file.name for file in options.files],
        "lines": {level: levels[level] for level in LEVELS if levels[level]},
        "repeated_questions": len(read) - len(questions),
        "repeated_candidates": sum(one.repeated for one in read),
        "graphs": dict(labels.how),
        "rules": _rules(labels, options),
        "seed": options.seed,
        "split": {"shares": dict(zip(SPLITS, options.shares, strict=True)), "together": f"equal {options.hold_out}"},
        "inferred_graphs": {split: sum(one.id in inferred for one in part) for split, part in splits.items()},
        "shared_with_earlier_splits": shared_between(dict(splits)),
        "not_answerable": {split: sum(not one.answerable for one in part) for split, part in splits.items()},
        "without_answer": sum(one.answer_unknown for one in examples),
        "counts": {split: len(part) for split, part in splits.items()},
        "tried": len(read),
        "dropped": {why: {"count": len(ids), "examples": ids[:3]} for why, ids in labels.dropped.items()},
    }


def _rules(labels: Labels, options: ImportOptions) -> dict[str, str]:
    used = {
        "links": labels.how["evidence, linked by shared names"],
        "chains": labels.how["answer, chain of shared names"],
        "teacher": labels.how["answer, graph of the teacher"],
    }
    rules = {name: RULES[name] for name, count in used.items() if count}
    if "teacher" in rules:
        rules["teacher"] += f" by at least {options.agreement:g}"
    return rules


def _notes(splits: Mapping[str, list[Example]], facts: Mapping[str, None], metadata: Mapping[str, Any]) -> list[str]:
    notes = [
        f"questions in {split}: {len(part):,}; at least {FEW[split]:,} are advisable"
        for split, part in splits.items()
        if len(part) < FEW[split]
    ]
    if not metadata["not_answerable"]["dev"]:
        notes.append(
            "dev has no unanswerable question: a checkpoint learns no completeness and refuses nothing; --withhold"
        )
    for split in SPLITS[1:]:
        if count := metadata["inferred_graphs"][split]:
            notes.append(
                f"inferred graphs in {split}: {count:,}; scores on it compare with the inference, not the truth"
            )
    for split, shared in metadata["shared_with_earlier_splits"].items():
        told = ", ".join(f"{what} {count:,}" for what, count in shared.items() if count)
        notes += [f"shared by {split} with earlier splits: {told}"] if told else []
    if long := sum(len(text.split()) > LONG for text in facts):
        notes.append(f"facts of more than {LONG} words: {long:,} of {len(facts):,}; shipped configs read 64 tokens")
    examples = [one for part in splits.values() for one in part]
    if bare := sum(one.answerable and len(one.graph.nodes) == len(one.facts) for one in examples):
        notes.append(f"questions without distractors: {bare:,}; list more facts, or name a collection")
    if metadata["without_answer"]:
        notes.append(f"questions without an answer: {metadata['without_answer']:,}; a reader learns nothing from them")
    return notes
