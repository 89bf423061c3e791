"""Systems on a dataset's graphs: finished evaluations are read, everything else is run on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.utils.json_utils import shown
from eval.run.evaluate import Predictions, by_rule, run, timed_directions
from eval.run.read_evaluation import ReadEvaluation, check_hash, read_evaluation
from eval.systems.options import CompareOptions
from eval.systems.retrievers import load_baseline_rows
from eval.systems.spec import SystemSpec

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs


class Gathered(NamedTuple):
    """The systems by name, the questions, the reference system, and what the report says of them."""

    systems: Mapping[str, Predictions]
    examples: Sequence[Example]
    main: str
    about: dict[str, Any]


def gather(options: CompareOptions) -> Gathered:
    """Read or run all systems; with a reader, it answers for all of them.

    Raises:
        BgrError: two systems of one name, evaluations of other data or questions, or something damaged.
    """
    from bgr.data.reasongraphqa.io.dataset import dataset_hash

    specs = [SystemSpec.parse(text) for text in options.systems]
    read = {str(one.place): read_evaluation(one.path) for one in specs if one.is_evaluation}
    data_hash = dataset_hash(options.data)
    for one in read.values():
        check_hash(one.path, one.about, options.data, data_hash)
    examples = _questions(options, list(read.values()))
    runs = _Runs(options, examples)
    systems: dict[str, Predictions] = {}
    main = ""
    for spec in specs:
        evaluation = read.get(str(spec.place))
        found = runs.run(spec) if evaluation is None else _from_evaluation(spec, evaluation, examples)
        for name, system in found.items():
            if name in systems:
                raise BgrError(f"--systems: two systems have the name {shown(name)}; give one another: NAME=PLACE:PART")
            systems[name] = system
        main = evaluation.main if evaluation is not None and evaluation.main in found else list(found)[-1]
    if options.main is not None and options.main not in systems:
        raise BgrError(f"--main is {shown(options.main)}, the systems are: {', '.join(systems)}")
    about = {"data": str(options.data), "data_hash": data_hash, "split": options.split, "questions": len(examples)}
    if options.reader is not None:
        systems = _answered(options, systems, examples)
        about["reader"] = str(options.reader)
    return Gathered(systems, examples, options.main or main, about)


def _answered(
    options: CompareOptions, systems: Mapping[str, Predictions], examples: Sequence[Example]
) -> dict[str, Predictions]:
    from bgr.reader.reader import Reader
    from eval.run.with_reader import with_answers

    reader = Reader.from_pretrained(str(options.reader), device=options.device, precision=options.precision)
    return with_answers(reader, systems, examples, batch_size=options.batch_size, progress=True)


def _questions(options: CompareOptions, read: Sequence[ReadEvaluation]) -> list[Example]:
    """Those of the evaluations, in the order of the split; the whole split where there are none; a limit cuts both.

    Raises:
        DataError: there are none, or evaluations of other questions.
    """
    from bgr.data.reasongraphqa.io.dataset import load_split

    examples = load_split(options.data, options.split, progress=True)
    if options.limit or not read:
        examples = examples[: options.limit]
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
            where = f"the split {options.split!r} of {options.data}"
            raise DataError(f"{read[0].path}: question {shown(lost)} is not in {where}")
    if not examples:
        raise DataError(f"{options.data}: the split {options.split!r} is empty")
    return examples


def _from_evaluation(spec: SystemSpec, read: ReadEvaluation, examples: Sequence[Example]) -> dict[str, Predictions]:
    if spec.part is None and spec.name is None:
        return {name: read.predictions(name, examples) for name in read.systems}
    part = spec.part or read.main
    return {spec.name or part: read.predictions(part, examples)}


class _Runs:
    """Runs systems on one list of questions; a checkpoint named several times is run once."""

    def __init__(self, options: CompareOptions, examples: Sequence[Example]) -> None:
        self.options = options
        self.examples = examples
        self.done: dict[Path, tuple[BgrPipeline, list[DirectedGraphs], float]] = {}

    def run(self, spec: SystemSpec) -> dict[str, Predictions]:
        """The predictions of one system, by its name in the tables.

        Raises:
            BgrError: a folder is damaged, or has no such part.
        """
        from bgr.retrievers.baselines.baseline_config import SETTINGS

        if not spec.is_baseline and not (spec.path / SETTINGS).is_file():
            return self._checkpoint(spec)
        options = self.options
        rows = load_baseline_rows(spec, seed=options.seed, device=options.device, precision=options.precision)
        return {name: run(retriever, self.examples, name) for name, retriever in rows.items()}

    def _checkpoint(self, spec: SystemSpec) -> dict[str, Predictions]:
        """One rule of a checkpoint, its own unless another is named."""
        from bgr.retrievers.graph_hop.reconstruction import check_rule

        if spec.part is not None:
            check_rule(spec.part)
        if spec.path not in self.done:
            self.done[spec.path] = self._directions(spec.path)
        pipeline, found, seconds = self.done[spec.path]
        rule = spec.part or pipeline.settings.rule
        predictions = by_rule(pipeline, found, rule, pipeline.settings.gamma(rule), seconds)
        return {spec.name or (rule if spec.part else spec.path.name): predictions}

    def _directions(self, folder: Path) -> tuple[BgrPipeline, list[DirectedGraphs], float]:
        from bgr.pipeline import BgrPipeline

        pipeline = BgrPipeline.from_pretrained(folder, device=self.options.device, precision=self.options.precision)
        return pipeline, *timed_directions(pipeline, self.examples, self.options.batch_size)
