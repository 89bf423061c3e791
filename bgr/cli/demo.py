"""`bgr demo`: the other commands one after the other, each in a process of its own."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bgr.cli import child_process
from bgr.cli.parser import Command, Output
from bgr.errors import BgrError
from bgr.released import checkpoint_folder
from bgr.utils.options import Options, OutFolder

Words = tuple[str, ...]

NEW: tuple[Words, Words] = ("--config", "demo"), ("--config", "reader_demo")
"""Settings of the training of the retriever and of the reader with new weights."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """Options of `bgr demo`.

    Args:
        out: folder for everything.
        scratch: train new weights, for two epochs, instead of taking the released ones further.
        questions: number of questions in all splits.
        seed: seed of the data.
    """

    out: OutFolder = Path("work/demo")
    scratch: bool = False
    questions: int = 5_000
    seed: int = 0


def command() -> Command:
    return Command(
        summary="run all steps on a small real dataset",
        description="""The steps: Atlas, ReasonGraphQA, training of both directions and of a reader, evaluation, export,
            and a question. The training takes the released weights further, for one epoch. Each step is one of the
            other commands and is printed as such. Steps that are done are not repeated, so an interrupted demo resumes
            where it stopped.""",
        options=DemoOptions,
        run=run,
        example="bgr demo --out work/demo",
        json=False,
    )


def run(options: DemoOptions) -> Output:
    """Run the steps that are not done yet; BgrError if one fails."""
    out = options.out
    atlas, data, trained, report = out / "atlas", out / "data", out / "run", out / "evaluation"
    reader, checkpoint = out / "reader", out / "checkpoint"
    start = time.perf_counter()
    _step(atlas, "atlas", "--out", atlas, "--seed", options.seed)
    limits = ["--limit", options.questions, "--seed", options.seed]
    _step(data, "data", "build", "--kqapro", atlas, "--out", data, *limits)
    _command("data", "stats", data, "--plot", out / "statistics.png")
    for_retriever, for_reader = NEW if options.scratch else _further(checkpoint_folder())
    paths = ["--data", data, "--out", trained, *_resume(trained)]
    _step(trained / "bgr.json", "train", "retriever", *paths, *for_retriever)
    paths = ["--data", data, "--retriever", trained, "--out", reader, *_resume(reader)]
    _step(reader / "reader.json", "train", "reader", *paths, *for_reader)
    _step(report, "evaluate", "--checkpoint", trained, "--reader", reader, "--data", data, "--out", report)
    metrics = ["--metrics", report / "metrics.json"]
    _step(checkpoint, "export", "--run", trained, "--reader", reader, "--out", checkpoint, *metrics)
    _ask(out, checkpoint, data)
    minutes = (time.perf_counter() - start) / 60
    return Output(
        f"\nreport     {report / 'metrics.md'}\ncheckpoint {checkpoint}\ngraph      {out / 'graph.png'}\n"
        f"the demo took {minutes:.1f} minutes"
    )


def _further(checkpoint: Path) -> tuple[Words, Words]:
    """As `NEW`, for weights that start as those of a checkpoint."""
    return (
        ("--config", "further", "--init", str(checkpoint), "--data.dev_limit=500"),
        ("--config", "reader_further", "--init", str(checkpoint / "reader")),
    )


def _resume(folder: Path) -> list[str]:
    return ["--resume"] if folder.exists() else []


def _ask(out: Path, checkpoint: Path, data: Path) -> None:
    from bgr.data.reasongraphqa.io.dataset import load_split

    examples = load_split(data, "test")
    example = next((one for one in examples if one.structure == "MC-MH"), examples[0])
    facts = out / "facts.txt"
    facts.write_text("\n".join(example.facts) + "\n", encoding="utf-8")
    draw = ["--draw", out / "graph.png", "--overwrite"]
    _command("ask", "--checkpoint", checkpoint, "--facts", facts, *draw, example.question)
    print(f"gold answer {example.answer!r}, gold evidence {example.graph.order()}")


def _step(result: Path, *command: object) -> None:
    if result.exists():
        print(f"\n{result} exists: this step is not repeated", flush=True)
        return
    _command(*command)


def _command(*command: object) -> None:
    """Run `bgr` with these words in a process that frees its memory; BgrError if it fails."""
    words: Sequence[str] = list(map(str, command))
    print(f"\n$ bgr {shlex.join(words)}", flush=True)
    start = time.perf_counter()
    if subprocess.run(**child_process(words), check=False).returncode:
        raise BgrError(f"stopped at: bgr {shlex.join(words)}")
    print(f"[{time.perf_counter() - start:.0f} s]", flush=True)
