"""What `bgr compare` compares: names and places told apart, evaluations read, the rest run on the same questions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.errors import BgrError, DataError
from bgr.example import Example
from bgr.json_text import shown

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs
    from bgr.retrieval import Retriever
    from eval.compare_read import ReadEvaluation
    from eval.evaluate import Predictions

PLAIN = ("bm25", "random")
"""Baselines that need no folder."""


@dataclass(frozen=True)
class Asked:
    """One item of ``--systems``: ``[NAME=]PLACE[:PART]``."""

    name: str | None
    place: str
    part: str | None

    @property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def is_evaluation(self) -> bool:
        """Whether the place holds predictions; a file is taken for nothing else."""
        return self.path.is_file() or (self.path / "predictions.jsonl").is_file()


def parse_system(text: str) -> Asked:
    """Tell name, place and part apart. A place that exists as it stands has no part, whatever colons it has.

    Raises:
        BgrError: the place is empty, or is nothing that exists.
    """
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or Path(text).exists():
        name, rest = "", text
    place, colon, part = rest.rpartition(":")
    if not colon or Path(rest).exists():
        place, part = rest, ""
    if not place or (equals and rest is not text and not name.strip()):
        raise BgrError(f"--systems {shown(text)}: allowed: [NAME=]PLACE[:PART]")
    if place not in PLAIN and not Path(place).exists():
        raise BgrError(
            f"--systems {shown(text)}: {place} does not exist; a place is a folder of bgr evaluate, a checkpoint, "
            f"a trained baseline, {' or '.join(PLAIN)}"
        )
    return Asked(name or None, place, part or None)


def gather(
    args: argparse.Namespace,
) -> tuple[dict[str, Retriever | Predictions], list[Example], str, dict[str, Any]]:
    """The systems by name, the questions, the main system, and what the report says of them.

    Raises:
        BgrError: two systems of one name, evaluations of other data or questions, or something damaged.
    """
    from bgr.reasongraphqa.dataset import dataset_hash
    from eval.compare_read import check_hash, read_evaluation

    asked = [parse_system(text) for text in args.systems]
    read = {one.place: read_evaluation(one.path) for one in asked if one.is_evaluation}
    data_hash = dataset_hash(args.data)
    for evaluation in read.values():
        check_hash(evaluation, args.data, data_hash)
    examples = _questions(args, list(read.values()))
    runs = _Runs(args, examples)
    systems: dict[str, Retriever | Predictions] = {}
    for one in asked:
        found = _from_evaluation(one, read[one.place], examples) if one.place in read else runs.run(one)
        for name, system in found.items():
            if name in systems:
                raise BgrError(f"--systems: two systems have the name {shown(name)}; give one another: NAME=PLACE:PART")
            systems[name] = system
        main = _main(one, found, read.get(one.place))
    if args.main is not None and args.main not in systems:
        raise BgrError(f"--main is {shown(args.main)}, the systems are: {', '.join(systems)}")
    about = {"data": str(args.data), "data_hash": data_hash, "split": args.split, "questions": len(examples)}
    return systems, examples, args.main or main, about


def _main(asked: Asked, found: dict[str, Any], read: ReadEvaluation | None) -> str:
    return read.main if read is not None and read.main in found else list(found)[-1]


def _questions(args: argparse.Namespace, read: Sequence[ReadEvaluation]) -> list[Example]:
    """Those of the evaluations, in the order of the split; the whole split where there are none; `--limit` cuts both.

    Raises:
        DataError: there are none, or evaluations of other questions.
    """
    from bgr.reasongraphqa.dataset import load_split

    examples = load_split(args.data, args.split, progress=True)
    if args.limit or not read:
        examples = examples[: args.limit]
    else:
        wanted = set(read[0].records)
        for other in read:
            if other.records.keys() != wanted:
                raise DataError(
                    f"{other.path}: {len(other.records)} questions, not the same as the {len(wanted)} of "
                    f"{read[0].path}; give --limit N to compare the first N of the split"
                )
        examples = [example for example in examples if example.id in wanted]
        if len(examples) < len(wanted):
            lost = min(wanted - {example.id for example in examples})
            raise DataError(f"{read[0].path}: question {shown(lost)} is not in the split {args.split!r} of {args.data}")
    if not examples:
        raise DataError(f"{args.data}: the split {args.split!r} is empty")
    return examples


def _from_evaluation(asked: Asked, read: ReadEvaluation, examples: Sequence[Example]) -> dict[str, Predictions]:
    if asked.part is None and asked.name is None:
        return {name: read.predictions(name, examples) for name in read.systems}
    part = asked.part or read.main
    return {asked.name or part: read.predictions(part, examples)}


class _Runs:
    """Runs what is not evaluated yet; a checkpoint that is named several times is run once."""

    def __init__(self, args: argparse.Namespace, examples: Sequence[Example]) -> None:
        self.args = args
        self.examples = examples
        self.done: dict[str, tuple[BgrPipeline, list[DirectedGraphs], float]] = {}

    def run(self, asked: Asked) -> dict[str, Retriever | Predictions]:
        from bgr.baselines.bm25 import Bm25Facts
        from bgr.baselines.random_facts import RandomFacts

        if asked.place not in PLAIN:
            return self._checkpoint(asked)
        retriever = Bm25Facts() if asked.place == "bm25" else RandomFacts(seed=self.args.seed)
        return {asked.name or asked.place: retriever}

    def _checkpoint(self, asked: Asked) -> dict[str, Retriever | Predictions]:
        """One rule of a checkpoint, its own unless another is named."""
        from bgr.commands.evaluate import by_rule
        from bgr.reconstruction import check_rule

        if asked.part is not None:
            check_rule(asked.part)
        if asked.place not in self.done:
            self.done[asked.place] = self._directions(asked.path)
        pipeline, found, seconds = self.done[asked.place]
        rule = asked.part or pipeline.settings.rule
        predictions = by_rule(pipeline, found, rule, pipeline.settings.gamma(rule), seconds)
        return {asked.name or (rule if asked.part else asked.path.name): predictions}

    def _directions(self, folder: Path) -> tuple[BgrPipeline, list[DirectedGraphs], float]:
        from bgr.pipeline import BgrPipeline
        from eval.evaluate import query_of

        pipeline = BgrPipeline.from_pretrained(folder, device=self.args.device, precision=self.args.precision)
        start, queries = time.perf_counter(), [query_of(example) for example in self.examples]
        found = pipeline.retrieve_directions(queries, batch_size=self.args.batch_size, progress=True)
        return pipeline, found, time.perf_counter() - start
