"""A checkpoint, each of its reconstruction rules, and baselines scored on a dataset, with a report: `bgr evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split, recipe_of
from bgr.errors import BgrError, DataError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import RetrievalResult, Retriever
from bgr.retrievers.graph_hop.reconstruction import RULES, check_rule
from bgr.retrievers.llm_graph.reader import open_reader
from bgr.utils.atomic_io import output_folder
from eval.report.evaluation import write_errors, write_report, write_sweep
from eval.run.answers import GOLD, AnswerScores, answers_of
from eval.run.breakdown import ErrorCounts, count_errors
from eval.run.evaluate import Directions, Evaluation, Predictions, evaluate, run
from eval.run.refusal import first_questions, score_refusals
from eval.run.sweep import SINGLE, Sweep, sweep
from eval.systems.options import EvaluateOptions
from eval.systems.retrievers import load_baseline_rows
from eval.systems.spec import BASELINES, SystemSpec, suggested


class CheckpointEvaluation(NamedTuple):
    """Every system, scored; the name of the main system; checkpoint, data, split and settings; failures by kind, if
    requested; the answers from the gold graphs and from those of the main system, if there is a reader; the folder of
    the report."""

    evaluations: list[Evaluation]
    main: str
    about: dict[str, Any]
    errors: list[ErrorCounts]
    answers: list[AnswerScores]
    out: Path


class CheckpointSweep(NamedTuple):
    """Scores at every γ; checkpoint (with its own γs), data and split; the folder of the report."""

    sweep: Sweep
    about: dict[str, Any]
    out: Path


def evaluate_checkpoint(options: EvaluateOptions) -> CheckpointEvaluation:
    """Run both directions once, apply every reconstruction rule, score them and the baselines, write the report.

    All systems are also run on the questions of the split that have no answer, to score their refusals.

    Raises:
        BgrError: a rule or baseline is unknown, the checkpoint or the data are damaged, or the folder exists.
    """
    split = options.split or "test"
    out = options.output
    # opened first: a folder that is in the way is reported before the work, not after it
    with output_folder(out, overwrite=options.overwrite) as folder:
        examples, unanswerable = _examples(options, split)
        about_data = _about_data(options, split, examples) | {"unanswerable": len(unanswerable)}
        baselines = _load_baselines(options)
        rules = CheckpointRules.load(options)
        main, about = (rules.main, rules.about(options)) if rules else (next(iter(baselines), ""), {})
        about |= about_data
        of_rules = rules.run(examples) if rules else {}
        wrong = rules.run(unanswerable) if rules and unanswerable else {}
        answers = _read(rules, of_rules, wrong, examples, unanswerable) if rules else []
        if answers:
            about["reader"] = str(options.reader or f"{options.checkpoint}/reader")
            of_rules[main] = replace(of_rules[main], answers=answers[-1].answers)
        evaluations = evaluate(
            {**baselines, **of_rules},
            examples,
            ged_seconds=options.ged_seconds,
            released_ged=options.released_ged,
            progress=True,
        )
        if unanswerable:
            wrong |= {name: run(retriever, unanswerable) for name, retriever in baselines.items()}
            evaluations = _with_refusals(evaluations, wrong, unanswerable)
        write_report(folder, evaluations, examples, main, about, answers=answers)
        errors = [count_errors(evaluation, examples) for evaluation in evaluations] if options.errors else []
        if errors:
            write_errors(folder, errors, examples)
    return CheckpointEvaluation(evaluations, main, about, errors, answers, out)


def sweep_checkpoint(options: EvaluateOptions) -> CheckpointSweep:
    """Run both directions once and score every rule at every γ (the paper's Figure 5).

    Raises:
        BgrError: there is no checkpoint, a rule is unknown, a file is damaged, or the folder exists.
    """
    if options.checkpoint is None:
        raise BgrError("--sweep needs --checkpoint")
    split = options.split or "dev"
    rules, out = chosen_rules(options.rule), options.output
    with output_folder(out, overwrite=options.overwrite) as folder:
        examples, _ = _examples(options, split)
        about_data = _about_data(options, split, examples)
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, device=options.device, precision=options.precision)
        settings = pipeline.settings
        graphs = Directions.run(pipeline, examples, options.batch_size).graphs
        result = sweep(
            lambda index, rule, gamma: graphs[index].merged(rule, gamma, fusion=settings.fusion).graph,
            examples,
            rules,
            ged_seconds=options.ged_seconds,
            progress=True,
        )
        about = {
            "checkpoint": str(options.checkpoint),
            "checkpoint_recipe": settings.recipe,
            **about_data,
            "checkpoint_gammas": settings.gammas,
            "fused_threshold": settings.fused_threshold,
        }
        write_sweep(folder, result, about)
    return CheckpointSweep(result, about, out)


def _examples(options: EvaluateOptions, split: str) -> tuple[list[Example], list[Example]]:
    """The questions with an answer, and those without."""
    examples, unanswerable = first_questions(load_split(options.data, split, unanswerable=True), options.limit)
    if not examples:
        raise DataError(f"{options.data}: the split {split!r} is empty")
    return examples, unanswerable


def _about_data(options: EvaluateOptions, split: str, examples: Sequence[Example]) -> dict[str, Any]:
    data_hash = dataset_hash(options.data)
    return {
        "data": str(options.data),
        "recipe": recipe_of(options.data),
        "data_hash": data_hash,
        "split": split,
        "questions": len(examples),
    }


def _read(
    rules: CheckpointRules,
    found: Mapping[str, Predictions],
    wrong: Mapping[str, Predictions],
    examples: Sequence[Example],
    unanswerable: Sequence[Example],
) -> list[AnswerScores]:
    """The reader's answers from the gold graphs and from those of the main rule; none without a reader, or a question
    whose right answer is known."""
    reader = rules.pipeline.reader
    if reader is None or not any(example.answer for example in examples):
        return []
    gold = [RetrievalResult(example.graph) for example in examples]
    refused = wrong[rules.main].results if wrong else ()
    return [
        answers_of(reader, GOLD, examples, gold, progress=True),
        answers_of(reader, rules.main, examples, found[rules.main].results, unanswerable, refused, progress=True),
    ]


def _with_refusals(
    evaluations: Sequence[Evaluation], wrong: Mapping[str, Predictions], unanswerable: Sequence[Example]
) -> list[Evaluation]:
    """The evaluations with their refusals; `wrong` has the results of each system on the questions without an
    answer."""
    return [
        replace(one, refusals=score_refusals(one.results, wrong[one.name].results, unanswerable)) for one in evaluations
    ]


def _load_baselines(options: EvaluateOptions) -> dict[str, Retriever]:
    """The baselines by the names of their rows. A name that another row has is followed by the name of the folder."""
    rows: dict[str, Retriever] = {}
    for word in ("bm25",) if options.baselines is None else options.baselines:
        spec = SystemSpec(None, word)
        if not spec.is_baseline and not spec.path.is_dir():
            raise BgrError(
                f"--baselines {word}: no such folder; allowed: {', '.join(BASELINES)}, or a baseline's folder"
                f"{suggested(word, BASELINES)}"
            )
        for name, retriever in load_baseline_rows(spec, options, seed=options.seed).items():
            if name not in BASELINES or name not in rows:  # a baseline without weights is the same from a folder
                rows[f"{name} ({spec.path.name})" if name in rows else name] = retriever
    return rows


@dataclass(frozen=True)
class CheckpointRules:
    """A loaded checkpoint with the γ of each chosen rule; `main` is the rule to break down."""

    pipeline: BgrPipeline
    gammas: Mapping[str, float]
    main: str
    batch_size: int

    @classmethod
    def load(cls, options: EvaluateOptions) -> CheckpointRules | None:
        """The rules that the options choose; ``None`` without a checkpoint.

        Raises:
            BgrError: a rule is unknown, or the checkpoint is damaged.
        """
        if options.checkpoint is None:
            return None
        rules = chosen_rules(options.rule)
        machine: dict[str, Any] = {"device": options.device, "precision": options.precision}
        reader = None if options.reader is None else open_reader(options.reader, server=options, **machine)
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, reader=reader, **machine)
        settings = pipeline.settings
        gammas = {rule: settings.gamma(rule) if options.gamma is None else options.gamma for rule in rules}
        return cls(pipeline, gammas, settings.rule if settings.rule in rules else rules[0], options.batch_size)

    def run(self, examples: Sequence[Example]) -> dict[str, Predictions]:
        """The predictions by rule; both directions run once."""
        found = Directions.run(self.pipeline, examples, self.batch_size)
        return {rule: found.predictions(rule, gamma) for rule, gamma in self.gammas.items()}

    def about(self, options: EvaluateOptions) -> dict[str, Any]:
        """The settings for the report."""
        return {
            "checkpoint": str(options.checkpoint),
            "checkpoint_recipe": self.pipeline.settings.recipe,
            "precision": self.pipeline.precision,
            "gammas": dict(self.gammas),
            "fused_threshold": self.pipeline.settings.fused_threshold,
            "main_rule": self.main,
        }


def chosen_rules(names: Sequence[str] | None) -> list[str]:
    """The rules that were named, or all rules, single directions first."""
    rules = names or [*SINGLE, *(rule for rule in RULES if rule not in SINGLE)]
    for rule in rules:
        check_rule(rule)
    return list(dict.fromkeys(rules))
