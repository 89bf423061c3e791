"""Systems on a dataset's graphs: finished evaluations are read, everything else is run on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from bgr.utils.json_utils import repr_short
from eval.compare.compare import GOLD, NOTHING
from eval.run.evaluate import Directions, Predictions, run
from eval.run.read_evaluation import ReadEvaluation, check_hash, read_evaluation
from eval.systems.options import CompareOptions
from eval.systems.retrievers import load_baseline_rows
from eval.systems.spec import SystemSpec

if TYPE_CHECKING:
    from bgr.reader.reader import Reader, ReaderAnswer


def gather(options: CompareOptions) -> tuple[dict[str, Predictions], list[Example], str, dict[str, Any]]:
    """Read or run all systems; with a reader, it answers for all of them.

    Returns:
        The systems by name, the questions, the reference system, and the settings for the report.

    Raises:
        BgrError: two systems have the same name, evaluations have other data or questions, or a file is damaged.
    """
    from bgr.data.reasongraphqa.io.dataset import dataset_hash, recipe_of

    specs = [SystemSpec.parse(text) for text in options.systems]
    read = {str(one.place): read_evaluation(one.path) for one in specs if one.is_evaluation}
    data_hash, recipe = dataset_hash(options.data), recipe_of(options.data)
    for one in read.values():
        check_hash(one.path, one.about, options.data, data_hash)
    examples = _questions(options, list(read.values()))
    checkpoints: dict[Path, Directions] = {}
    systems: dict[str, Predictions] = {}
    main = ""
    for spec in specs:
        evaluation = read.get(str(spec.place))
        if evaluation is None:
            found = _run(spec, options, examples, checkpoints)
        elif spec.part is None and spec.name is None:
            found = {name: evaluation.predictions(name, examples) for name in evaluation.systems}
        else:
            part = spec.part or evaluation.main
            found = {spec.name or part: evaluation.predictions(part, examples)}
        for name, system in found.items():
            if name in systems:
                raise BgrError(
                    f"--systems: two systems have the name {repr_short(name)}; give one another: NAME=PLACE:PART"
                )
            systems[name] = system
        main = evaluation.main if evaluation is not None and evaluation.main in found else list(found)[-1]
    if options.main is not None and options.main not in systems:
        raise BgrError(f"--main is {repr_short(options.main)}, the systems are: {', '.join(systems)}")
    about = {
        "data": str(options.data),
        "recipe": recipe,
        "data_hash": data_hash,
        "split": options.split,
        "questions": len(examples),
    }
    if options.reader is not None:
        from bgr.retrievers.llm_graph.reader import open_reader

        reader = open_reader(options.reader, device=options.device, precision=options.precision, server=options)
        systems = with_answers(reader, systems, examples, batch_size=options.batch_size, progress=True)
        about["reader"] = options.reader
    return systems, examples, options.main or main, about


def with_answers(
    reader: Reader,
    systems: Mapping[str, Predictions],
    examples: Sequence[Example],
    *,
    batch_size: int = 32,
    progress: bool = False,
) -> dict[str, Predictions]:
    """The systems with the reader's answers, and two more: `GOLD` (the upper bound), and `NOTHING`, answers from the
    question alone (the lower bound).

    A question is read once for each different graph: systems that agree share the answer. Existing answers are
    replaced, so that all come from the same reader.
    """
    from bgr.reader.reader import ReaderInput

    gold = Predictions([RetrievalResult(example.graph) for example in examples])
    all_systems = {**{name: system for name, system in systems.items() if name != NOTHING}, GOLD: gold}
    inputs = {
        (number, result.graph.edges): ReaderInput(examples[number].question, examples[number].facts, result.graph)
        for system in all_systems.values()
        for number, result in enumerate(system.results)
    }
    read = reader.answer(list(inputs.values()), batch_size=batch_size, progress=progress)
    answers = dict(zip(inputs, read, strict=True))
    answered = {
        name: _answered(system, [answers[n, result.graph.edges] for n, result in enumerate(system.results)])
        for name, system in all_systems.items()
    }
    questions = [example.question for example in examples]
    alone = reader.answer_alone(questions, batch_size=batch_size, progress=progress)
    nothing = [RetrievalResult(EvidenceGraph()) for _ in examples]
    return {**answered, NOTHING: _answered(Predictions(nothing), alone)}


def _answered(system: Predictions, read: Sequence[ReaderAnswer]) -> Predictions:
    cut = sum(answer.truncated for answer in read)
    return replace(system, answers=[answer.text for answer in read], inputs_truncated=cut)


def _questions(options: CompareOptions, read: Sequence[ReadEvaluation]) -> list[Example]:
    """The questions of the evaluations, in the order of the split; without evaluations, or with a limit, those of the
    split."""
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
            raise DataError(f"{read[0].path}: question {repr_short(lost)} is not in {where}")
    if not examples:
        raise DataError(f"{options.data}: the split {options.split!r} is empty")
    return examples


def _run(
    spec: SystemSpec, options: CompareOptions, examples: Sequence[Example], checkpoints: dict[Path, Directions]
) -> dict[str, Predictions]:
    """The predictions of a system that is not evaluated yet, by name: the rows of a baseline, or one rule of a
    checkpoint, which is run once however often it is named (`checkpoints`)."""
    from bgr.retrievers.baselines.baseline_config import SETTINGS
    from bgr.retrievers.graph_hop.reconstruction import check_rule

    if spec.is_baseline or (spec.path / SETTINGS).is_file():
        rows = load_baseline_rows(spec, options, seed=options.seed)
        return {name: run(retriever, examples, name) for name, retriever in rows.items()}
    if spec.part is not None:
        check_rule(spec.part)
    if spec.path not in checkpoints:
        from bgr.pipeline import BgrPipeline

        pipeline = BgrPipeline.from_pretrained(spec.path, device=options.device, precision=options.precision)
        checkpoints[spec.path] = Directions.run(pipeline, examples, options.batch_size)
    settings = checkpoints[spec.path].pipeline.settings
    rule = spec.part or settings.rule
    found = checkpoints[spec.path].predictions(rule, settings.gamma(rule))
    return {spec.name or (rule if spec.part else spec.path.name): found}
