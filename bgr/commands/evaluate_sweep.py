"""`bgr evaluate --sweep`: every reconstruction rule at every γ, on one run of both directions."""

from __future__ import annotations

import argparse
import json

from bgr.commands.evaluate import examples_of, output_of, rules_of
from bgr.errors import BgrError
from bgr.files import output_folder


def run_sweep(args: argparse.Namespace) -> None:
    """Check, retrieve, score, write, print.

    Raises:
        BgrError: an option is missing, or one is given that a sweep has no use for.
    """
    _check(args)
    args.split = args.split or "dev"
    rules, out = rules_of(args), output_of(args, "sweep")
    from bgr.pipeline import BgrPipeline
    from bgr.reasongraphqa.dataset import dataset_hash
    from eval.evaluate import query_of
    from eval.sweep import as_json, as_text, sweep, write_sweep

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
        print(json.dumps(as_json(result, about), ensure_ascii=False))
    else:
        print(as_text(result, settings.gammas, args.split))
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
