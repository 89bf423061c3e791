"""A checkpoint and baselines scored on a dataset, with a report: everything that `bgr evaluate` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split
from bgr.errors import BgrError, DataError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Retriever
from bgr.retrievers.baselines.trained import baseline_rows, untrained
from bgr.retrievers.graph_hop.reconstruction import RULES, check_rule
from bgr.utils.atomic_io import output_folder
from eval.report.evaluation import write_errors, write_report, write_sweep
from eval.run.breakdown import ErrorCounts, count_errors
from eval.run.evaluate import Evaluation, Predictions, by_rule, evaluate, query_of, timed_directions
from eval.run.options import EvaluateOptions
from eval.run.sweep import Sweep, sweep
from eval.systems.spec import BASELINES


@dataclass(frozen=True)
class CheckpointEvaluation:
    """Result of `evaluate_checkpoint`.

    Args:
        evaluations: every system, scored.
        main: name of the main system.
        about: checkpoint, data, split and settings.
        errors: failures by kind, where they were asked for.
        out: folder of the report.
    """

    evaluations: list[Evaluation]
    main: str
    about: dict[str, Any]
    errors: list[ErrorCounts]
    out: Path


@dataclass(frozen=True)
class CheckpointSweep:
    """Result of `sweep_checkpoint`: scores at every γ, the checkpoint's own γs, the settings, the report's folder."""

    sweep: Sweep
    gammas: dict[str, float]
    split: str
    about: dict[str, Any]
    out: Path


def evaluate_checkpoint(options: EvaluateOptions) -> CheckpointEvaluation:
    """Run both directions once, apply every reconstruction rule, score them and the baselines, write the report.

    Raises:
        BgrError: a rule or baseline is unknown, the checkpoint or the data are damaged, or the folder exists.
    """
    split = options.split or "test"
    out = _output(options, f"evaluation-{split}")
    # opened first: a folder that is in the way is reported before the work, not after it
    with output_folder(out, overwrite=options.overwrite) as folder:
        examples = _examples(options, split)
        systems, main, about = _systems(options, examples)
        about |= {"data": str(options.data), "data_hash": dataset_hash(options.data), "split": split}
        about |= {"questions": len(examples)}
        evaluations = evaluate(
            systems, examples, ged_seconds=options.ged_seconds, released_ged=options.released_ged, progress=True
        )
        write_report(folder, evaluations, examples, main, about)
        errors = [count_errors(evaluation, examples) for evaluation in evaluations] if options.errors else []
        if errors:
            write_errors(folder, errors, examples)
    return CheckpointEvaluation(evaluations, main, about, errors, out)


def sweep_checkpoint(options: EvaluateOptions) -> CheckpointSweep:
    """Run both directions once and score every rule at every γ (the paper's Figure 5).

    Raises:
        BgrError: there is no checkpoint, a rule is unknown, a file is damaged, or the folder exists.
    """
    if options.checkpoint is None:
        raise BgrError("--sweep needs --checkpoint")
    split = options.split or "dev"
    rules, out = chosen_rules(options.rule), _output(options, f"sweep-{split}")
    with output_folder(out, overwrite=options.overwrite) as folder:
        examples = _examples(options, split)
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, device=options.device, precision=options.precision)
        settings, fusion = pipeline.settings, pipeline.settings.fusion
        queries = [query_of(example) for example in examples]
        found = pipeline.retrieve_directions(queries, batch_size=options.batch_size, progress=True)
        result = sweep(
            lambda index, rule, gamma: found[index].merged(rule, gamma, fusion=fusion).graph,
            examples,
            rules,
            ged_seconds=options.ged_seconds,
            progress=True,
        )
        about = {
            "checkpoint": str(options.checkpoint),
            "data": str(options.data),
            "data_hash": dataset_hash(options.data),
            "split": split,
            "questions": len(examples),
            "checkpoint_gammas": settings.gammas,
            "fused_threshold": settings.fused_threshold,
        }
        write_sweep(folder, result, settings.gammas, split, about)
    return CheckpointSweep(result, dict(settings.gammas), split, about, out)


def _examples(options: EvaluateOptions, split: str) -> list[Example]:
    examples = load_split(options.data, split)[: options.limit]
    if not examples:
        raise DataError(f"{options.data}: the split {split!r} is empty")
    return examples


def _output(options: EvaluateOptions, kind: str) -> Path:
    if options.out:
        return options.out
    if not options.checkpoint:
        raise BgrError("without --checkpoint, --out must name the folder of the report")
    checkpoint = options.checkpoint.resolve()
    return checkpoint.parent / f"{checkpoint.name}-{kind}"


def _systems(
    options: EvaluateOptions, examples: Sequence[Example]
) -> tuple[dict[str, Retriever | Predictions], str, dict[str, Any]]:
    """The systems to score by name, the name of the main system, and the report's description of them."""
    words = ("bm25",) if options.baselines is None else options.baselines
    systems: dict[str, Retriever | Predictions] = {
        **load_baselines(words, seed=options.seed, device=options.device, precision=options.precision)
    }
    if not options.checkpoint:
        return systems, next(iter(systems)), {}
    rules = chosen_rules(options.rule)
    pipeline = BgrPipeline.from_pretrained(options.checkpoint, device=options.device, precision=options.precision)
    gammas = {rule: pipeline.settings.gamma(rule) if options.gamma is None else options.gamma for rule in rules}
    found, seconds = timed_directions(pipeline, examples, options.batch_size)
    systems |= {rule: by_rule(pipeline, found, rule, gamma, seconds) for rule, gamma in gammas.items()}
    main = pipeline.settings.rule if pipeline.settings.rule in rules else rules[0]
    about = {
        "checkpoint": str(options.checkpoint),
        "precision": pipeline.precision,
        "gammas": gammas,
        "fused_threshold": pipeline.settings.fused_threshold,
        "main_rule": main,
    }
    return systems, main, about


def chosen_rules(names: Sequence[str] | None) -> list[str]:
    """The reconstruction rules that were named, or all, single directions first.

    Raises:
        BgrError: a rule is unknown.
    """
    rules = names or ["forward", "backward", *(rule for rule in RULES if rule not in ("forward", "backward"))]
    for rule in rules:
        check_rule(rule)
    return list(dict.fromkeys(rules))


def load_baselines(
    words: Sequence[str], *, seed: int = 0, device: str | None = None, precision: str | None = None
) -> dict[str, Retriever]:
    """The rows of a table by name. A baseline that decides itself how many facts to retrieve has one row, a single-hop
    one from a folder has two: k = number of gold facts, and dev's k. A name that is taken gets its folder's name too.

    Raises:
        BgrError: a word is neither a name nor a baseline's folder, or the folder cannot be loaded.
    """
    rows: dict[str, Retriever] = {}
    for word in words:
        if word in BASELINES:
            rows[word] = untrained(word, None, seed)
            continue
        folder = Path(word)
        if not folder.is_dir():
            raise BgrError(
                f"--baselines {word}: no such folder; allowed: {', '.join(BASELINES)}, or a baseline's folder"
            )
        for name, retriever in baseline_rows(folder, device=device, precision=precision).items():
            if name not in BASELINES or name not in rows:  # a baseline without weights is the same from a folder
                rows[f"{name} ({folder.name})" if name in rows else name] = retriever
    return rows
