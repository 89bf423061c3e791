"""Score a checkpoint, and baselines beside it, with the graph metrics.

Both directions are run once; every reconstruction rule is applied to what they found. Prints a table and writes
metrics.json, metrics.csv, metrics.md, predictions.jsonl and plots into the output folder. With --sweep every rule is
scored at every γ instead: sweep.json, sweep.csv, sweep.md and sweep.png (the paper's Figure 5).

  bgr evaluate --checkpoint checkpoints/demo --data work/reasongraphqa --split test
  bgr evaluate --data work/reasongraphqa --baselines bm25 random work/dpr work/mdr --out work/baselines
  bgr evaluate --checkpoint checkpoints/demo --data work/reasongraphqa --sweep
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.baseline_option import add_baselines, load_baselines
from bgr.cli.counts import positive
from bgr.cli.machine_options import add_machine
from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import output_folder

if TYPE_CHECKING:
    from bgr.pipeline import BgrPipeline, DirectedGraphs
    from bgr.retrievers.base import Retriever
    from eval.run.breakdown import ErrorCounts
    from eval.run.evaluate import Evaluation, Predictions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--checkpoint", type=Path, metavar="DIR", help="exported checkpoint; without it, baselines only"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="dataset made by `bgr data build`")
    parser.add_argument("--split", choices=("train", "dev", "test"), help="default: test; dev with --sweep")
    parser.add_argument("--sweep", action="store_true", help="score every rule at γ = 0, 0.05 … 1")
    parser.add_argument("--rule", nargs="+", metavar="NAME", help="reconstruction rules; default: all of them")
    parser.add_argument("--gamma", type=float, help="γ of all rules, 0 to 1; default: the checkpoint's of each")
    add_baselines(parser)
    parser.add_argument("--limit", type=positive, metavar="N", help="only the first N questions")
    parser.add_argument("--batch-size", type=positive, default=16, help="questions at a time; default: 16")
    parser.add_argument("--seed", type=int, default=0, help="of the random baseline; default: 0")
    add_machine(parser)
    parser.add_argument("--ged-seconds", type=float, default=1.0, help="limit of one edit distance; default: 1")
    parser.add_argument("--released-ged", action="store_true", help="also the edit distance of the authors' code")
    parser.add_argument("--errors", action="store_true", help="also sort failures into kinds: errors.json, errors.md")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: CHECKPOINT-evaluation-SPLIT or -sweep-SPLIT")
    parser.add_argument("--overwrite", action="store_true", help="replace the output folder")
    parser.add_argument("--json", action="store_true", help="print metrics.json (sweep.json) instead of the tables")


def run(args: argparse.Namespace) -> None:
    if args.sweep:
        run_sweep(args)
        return
    args.split = args.split or "test"
    args.baselines = ["bm25"] if args.baselines is None else args.baselines
    from bgr.data.reasongraphqa.io.dataset import dataset_hash
    from eval.report.evaluation import as_json, write_errors, write_report
    from eval.run.breakdown import count_errors
    from eval.run.evaluate import evaluate

    out = output_of(args, "evaluation")
    # opened first: a folder that is in the way is reported before the work, not after it
    with output_folder(out, overwrite=args.overwrite) as folder:
        examples = examples_of(args)
        systems, main, about = _systems(args, examples)
        about |= {"data": str(args.data), "data_hash": dataset_hash(args.data), "split": args.split}
        about |= {"questions": len(examples)}
        evaluations = evaluate(
            systems, examples, ged_seconds=args.ged_seconds, released_ged=args.released_ged, progress=True
        )
        write_report(folder, evaluations, examples, main, about)
        errors = [count_errors(evaluation, examples) for evaluation in evaluations] if args.errors else []
        if errors:
            write_errors(folder, errors, examples)
    if args.json:
        print(json.dumps(as_json(evaluations, main, about), ensure_ascii=False))
    else:
        _print(evaluations, main, about, out, errors)


def _print(
    evaluations: Sequence[Evaluation], main: str, about: dict[str, Any], out: Path, errors: Sequence[ErrorCounts]
) -> None:
    from eval.report.evaluation import as_text, errors_text

    print(", ".join(f"{name} {value}" for name, value in about.items() if name != "data_hash"))
    print()
    print(as_text(evaluations, main))
    print()
    if errors:
        print(errors_text(errors), end="\n\n")
    print(f"written to {out}")


def examples_of(args: argparse.Namespace) -> list[Example]:
    """The questions to score.

    Raises:
        DataError: there are none.
    """
    from bgr.data.reasongraphqa.io.dataset import load_split

    examples = load_split(args.data, args.split)[: args.limit]
    if not examples:
        raise DataError(f"{args.data}: the split {args.split!r} is empty")
    return examples


def output_of(args: argparse.Namespace, kind: str) -> Path:
    """Where the report goes.

    Raises:
        BgrError: neither --out nor --checkpoint says.
    """
    if args.out:
        return args.out
    if not args.checkpoint:
        raise BgrError("without --checkpoint, --out must say where the report goes")
    checkpoint = args.checkpoint.resolve()
    return checkpoint.parent / f"{checkpoint.name}-{kind}-{args.split}"


def _systems(
    args: argparse.Namespace, examples: Sequence[Example]
) -> tuple[dict[str, Retriever | Predictions], str, dict[str, Any]]:
    """What to score, by name; the name of the main system; what the report says about them."""
    systems: dict[str, Retriever | Predictions] = {
        **load_baselines(args.baselines, seed=args.seed, device=args.device, precision=args.precision)
    }
    if not args.checkpoint:
        if not systems:
            raise BgrError("nothing to evaluate: give --checkpoint, --baselines, or both")
        return systems, next(iter(systems)), {}
    from bgr.pipeline import BgrPipeline

    rules = rules_of(args)
    if args.gamma is not None and not 0 <= args.gamma <= 1:
        raise BgrError(f"--gamma is {args.gamma}, allowed: 0 to 1")
    pipeline = BgrPipeline.from_pretrained(args.checkpoint, device=args.device, precision=args.precision)
    gammas = {rule: pipeline.settings.gamma(rule) if args.gamma is None else args.gamma for rule in rules}
    systems |= _bidirectional(pipeline, examples, gammas, args.batch_size)
    main = pipeline.settings.rule if pipeline.settings.rule in rules else rules[0]
    return (
        systems,
        main,
        {
            "checkpoint": str(args.checkpoint),
            "precision": pipeline.precision,
            "gammas": gammas,
            "fused_threshold": pipeline.settings.fused_threshold,
            "main_rule": main,
        },
    )


def rules_of(args: argparse.Namespace) -> list[str]:
    """The rules to apply: those that were named, or all, single directions first.

    Raises:
        BgrError: a rule is unknown.
    """
    from bgr.retrievers.graph_hop.reconstruction import RULES, check_rule

    rules = args.rule or ["forward", "backward", *(rule for rule in RULES if rule not in ("forward", "backward"))]
    for rule in rules:
        check_rule(rule)
    return list(dict.fromkeys(rules))


def _bidirectional(
    pipeline: Any, examples: Sequence[Example], gammas: Mapping[str, float], batch_size: int
) -> dict[str, Predictions]:
    """Every rule, with its γ, on one run of both directions."""
    found, seconds = timed_directions(pipeline, examples, batch_size)
    return {rule: by_rule(pipeline, found, rule, gamma, seconds) for rule, gamma in gammas.items()}


def timed_directions(
    pipeline: BgrPipeline, examples: Sequence[Example], batch_size: int
) -> tuple[list[DirectedGraphs], float]:
    """What both directions find, and the seconds that took."""
    from eval.run.evaluate import query_of

    start = time.perf_counter()
    queries = [query_of(example) for example in examples]
    found = pipeline.retrieve_directions(queries, batch_size=batch_size, progress=True)
    return found, time.perf_counter() - start


def by_rule(
    pipeline: BgrPipeline, found: Sequence[DirectedGraphs], rule: str, gamma: float, seconds: float
) -> Predictions:
    """What one reconstruction rule makes of both directions, which took so many seconds together: one direction alone
    has no time, and the weights of its own model."""
    from eval.run.evaluate import Predictions

    results = [one.merged(rule, gamma, fusion=pipeline.settings.fusion) for one in found]
    single = rule in ("forward", "backward")
    models = [getattr(pipeline, rule)] if single else [pipeline.forward, pipeline.backward]
    parameters = sum(weights.numel() for model in models for weights in model.parameters())
    return Predictions(results, None if single else seconds, parameters=parameters)


def run_sweep(args: argparse.Namespace) -> None:
    """Check, retrieve, score, write, print.

    Raises:
        BgrError: an option is missing, or one is given that a sweep has no use for.
    """
    _check(args)
    args.split = args.split or "dev"
    rules, out = rules_of(args), output_of(args, "sweep")
    from bgr.data.reasongraphqa.io.dataset import dataset_hash
    from bgr.pipeline import BgrPipeline
    from eval.report.evaluation import sweep_text, write_sweep
    from eval.run.evaluate import query_of
    from eval.run.sweep import sweep

    with output_folder(out, overwrite=args.overwrite) as folder:
        examples = examples_of(args)
        pipeline = BgrPipeline.from_pretrained(args.checkpoint, device=args.device, precision=args.precision)
        settings, fusion = pipeline.settings, pipeline.settings.fusion
        queries = [query_of(example) for example in examples]
        found = pipeline.retrieve_directions(queries, batch_size=args.batch_size, progress=True)
        result = sweep(
            lambda place, rule, gamma: found[place].merged(rule, gamma, fusion=fusion).graph,
            examples,
            rules,
            ged_seconds=args.ged_seconds,
            progress=True,
        )
        about = {
            "checkpoint": str(args.checkpoint),
            "data": str(args.data),
            "data_hash": dataset_hash(args.data),
            "split": args.split,
            "questions": len(examples),
            "checkpoint_gammas": settings.gammas,
            "fused_threshold": settings.fused_threshold,
        }
        write_sweep(folder, result, settings.gammas, args.split, about)
    if args.json:
        print(json.dumps(result.to_json(about), ensure_ascii=False))
    else:
        print(sweep_text(result, settings.gammas, args.split))
        print(f"\nwritten to {out}")


def _check(args: argparse.Namespace) -> None:
    if args.checkpoint is None:
        raise BgrError("--sweep needs --checkpoint")
    for option, given in (
        ("--gamma", args.gamma is not None),
        ("--baselines", bool(args.baselines)),
        ("--released-ged", args.released_ged),
        ("--errors", args.errors),
    ):
        if given:
            raise BgrError(f"--sweep goes through every γ of the reconstruction rules: leave out {option}")
