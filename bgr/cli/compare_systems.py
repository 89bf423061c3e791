"""What `bgr compare` compares: evaluations are read, the rest is run on the same questions, a reader answers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bgr.cli.compare_runs import Asked, Runs, parse_system
from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.utils.json_utils import shown

if TYPE_CHECKING:
    from eval.run.evaluate import Predictions
    from eval.run.read_evaluation import ReadEvaluation


def gather(
    args: argparse.Namespace,
) -> tuple[dict[str, Predictions], list[Example], str, dict[str, Any]]:
    """The systems by name, the questions, the main system, and what the report says of them.

    Raises:
        BgrError: two systems of one name, evaluations of other data or questions, or something damaged.
    """
    from bgr.data.reasongraphqa.io.dataset import dataset_hash
    from eval.run.read_evaluation import check_hash, read_evaluation

    asked = [parse_system(text) for text in args.systems]
    read = {one.place: read_evaluation(one.path) for one in asked if one.is_evaluation}
    data_hash = dataset_hash(args.data)
    for evaluation in read.values():
        check_hash(evaluation.path, evaluation.about, args.data, data_hash)
    examples = _questions(args, list(read.values()))
    runs = Runs(args, examples)
    systems: dict[str, Predictions] = {}
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
    if args.reader is not None:
        systems = _answered(args, systems, examples)
        about["reader"] = str(args.reader)
    return systems, examples, args.main or main, about


def _answered(
    args: argparse.Namespace, systems: dict[str, Predictions], examples: Sequence[Example]
) -> dict[str, Predictions]:
    from bgr.reader.reader import Reader
    from eval.run.with_reader import with_answers

    reader = Reader.from_pretrained(args.reader, device=args.device, precision=args.precision)
    return with_answers(reader, systems, examples, batch_size=args.batch_size, progress=True)


def _main(asked: Asked, found: dict[str, Any], read: ReadEvaluation | None) -> str:
    return read.main if read is not None and read.main in found else list(found)[-1]


def _questions(args: argparse.Namespace, read: Sequence[ReadEvaluation]) -> list[Example]:
    """Those of the evaluations, in the order of the split; the whole split where there are none; `--limit` cuts both.

    Raises:
        DataError: there are none, or evaluations of other questions.
    """
    from bgr.data.reasongraphqa.io.dataset import load_split

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
