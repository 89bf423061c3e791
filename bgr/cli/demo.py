"""All of it on a small real dataset: Atlas, ReasonGraphQA, both directions and a reader trained, evaluated, exported,
and asked.

Every step is one of the other commands and is printed as such; a step that is done is not done again, so an
interrupted demo goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from pathlib import Path

from bgr.data.example import Example
from bgr.errors import BgrError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("work/demo"), help="folder for everything (%(default)s)")
    parser.add_argument("--config", default="demo", help="training config (%(default)s)")
    parser.add_argument("--reader-config", default="reader_demo", help="config of the reader (%(default)s)")
    parser.add_argument("--questions", type=int, default=10_000, help="kept questions, all splits (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Run the steps that are not done yet."""
    out: Path = args.out
    atlas, data, trained, report = out / "atlas", out / "data", out / "run", out / "evaluation"
    reader, checkpoint = out / "reader", out / "checkpoint"
    start = time.perf_counter()
    _step(atlas, ["atlas", "--out", str(atlas), "--seed", str(args.seed)])
    _step(
        data,
        ["data", "build", "--kqapro", str(atlas), "--out", str(data)]
        + ["--limit", str(args.questions), "--seed", str(args.seed)],
    )
    _command(["data", "stats", str(data), "--plot", str(out / "statistics.png")])
    train = ["train", "retriever", "--config", args.config, "--data", str(data), "--out", str(trained)]
    _step(trained / "bgr.json", [*train, "--resume"] if trained.exists() else train)
    read = ["train", "reader", "--config", args.reader_config, "--data", str(data), "--out", str(reader)]
    _step(reader / "reader.json", [*read, "--resume"] if reader.exists() else read)
    _step(report, ["evaluate", "--checkpoint", str(trained), "--data", str(data), "--out", str(report)])
    _step(
        checkpoint,
        ["export", "--run", str(trained), "--reader", str(reader), "--out", str(checkpoint)]
        + ["--metrics", str(report / "metrics.json")],
    )
    _ask(out, checkpoint, data)
    print(f"\nreport     {report / 'metrics.md'}\ncheckpoint {checkpoint}\ngraph      {out / 'graph.png'}")
    print(f"all of it took {(time.perf_counter() - start) / 60:.1f} minutes")


def _ask(out: Path, checkpoint: Path, data: Path) -> None:
    from bgr.data.reasongraphqa.io.dataset import load_split

    example = first_of_structure(load_split(data, "test"), "MC-MH")
    facts = out / "facts.txt"
    facts.write_text("\n".join(example.facts) + "\n", encoding="utf-8")
    _command(
        ["ask", "--checkpoint", str(checkpoint), "--facts", str(facts), "--draw", str(out / "graph.png")]
        + ["--overwrite", example.question]
    )
    print(f"gold answer {example.answer!r}, gold evidence {example.graph.order()}")


def first_of_structure(examples: list[Example], structure: str) -> Example:
    """The first sample of a structure, or the first of all where there is none."""
    return next((e for e in examples if e.structure == structure), examples[0])


def _step(result: Path, command: list[str]) -> None:
    if result.exists():
        print(f"\n{result} is there already: not run again", flush=True)
        return
    _command(command)


def _command(command: list[str]) -> None:
    print(f"\n$ bgr {shlex.join(command)}", flush=True)
    start = time.perf_counter()
    # a process of its own: what a step took of memory is free again before the next
    if subprocess.run([sys.executable, "-m", "bgr.cli", *command], check=False).returncode:
        raise BgrError(f"stopped at: bgr {shlex.join(command)}")
    print(f"[{time.perf_counter() - start:.0f} s]", flush=True)
