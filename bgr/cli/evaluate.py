"""`bgr evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgr.cli.parser import Command, Output

if TYPE_CHECKING:
    from eval.systems.options import EvaluateOptions


def command() -> Command:
    from eval.systems.options import EvaluateOptions

    return Command(
        summary="score a checkpoint and baselines with the graph metrics",
        description="""Both directions run once; every reconstruction rule is applied to their graphs. The output folder
            holds metrics.json, metrics.csv, metrics.md, predictions.jsonl and plots, refusal.csv if the split has
            questions without an answer, and with a reader answers.md, reliability.png and answers.html, a page of the
            wrong answers. With --sweep every rule is scored at every γ instead: sweep.json, sweep.csv,
            sweep.md and sweep.png (the paper's Figure 5). --json prints metrics.json or sweep.json.""",
        options=EvaluateOptions,
        run=run,
        example="""bgr evaluate --checkpoint checkpoints/demo --data work/data --split test
            bgr evaluate --data work/data --baselines bm25 random work/dpr work/mdr --out work/baselines
            bgr evaluate --checkpoint checkpoints/demo --data work/data --sweep""",
    )


def run(options: EvaluateOptions) -> Output:
    if options.sweep:
        return _sweep(options)
    from eval.report.answers import answers_text
    from eval.report.evaluation import as_json, as_text, errors_text
    from eval.run.checkpoint import evaluate_checkpoint

    found = evaluate_checkpoint(options)
    parts = [
        ", ".join(f"{name} {value}" for name, value in found.about.items() if name != "data_hash"),
        as_text(found.evaluations, found.main),
    ]
    if found.answers:
        parts.append(answers_text(found.answers))
    if found.errors:
        parts.append(errors_text(found.errors))
    text = "\n\n".join([*parts, f"written to {found.out}"])
    return Output(text, as_json(found.evaluations, found.main, found.about, answers=found.answers))


def _sweep(options: EvaluateOptions) -> Output:
    from eval.report.evaluation import sweep_text
    from eval.run.checkpoint import sweep_checkpoint

    found = sweep_checkpoint(options)
    text = sweep_text(found.sweep, found.about)
    return Output(f"{text}\n\nwritten to {found.out}", found.sweep.to_json(found.about))
